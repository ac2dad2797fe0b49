/// The answer that the browser brings back (RFC 6749 section 4.1.2). It does not print its parameters, as one is the
/// code.
package struct AuthorizationResponse: CustomReflectable, CustomStringConvertible, CustomDebugStringConvertible {
    private let parameters: [(name: String, value: String)]

    /// - Parameter callback: the redirect URL, or its path and query.
    /// - Throws: ``OpenIDConnectError`` with code `stateMismatch` if it cannot be read or has two states. Such a
    ///   redirect may belong to another sign-in.
    package init(_ callback: String) throws {
        guard callback.utf8.count <= 16 * 1024, let question = callback.firstIndex(of: "?"),
            let parameters = FormParameters.decode(
                callback[callback.index(after: question)...].prefix { $0 != "#" })
        else { throw OpenIDConnectError(.stateMismatch, "it has no readable query") }
        guard parameters.filter({ $0.name == "state" }).count <= 1 else {
            throw OpenIDConnectError(.stateMismatch, "its state comes more than once")
        }
        self.parameters = parameters
    }

    /// Returns the one value of a parameter; nil if it is missing.
    package func value(_ name: String) throws -> String? {
        let values = parameters.filter { $0.name == name }.map(\.value)
        guard values.count <= 1 else { throw Self.invalid("\(name) comes more than once") }
        return values.first
    }

    /// Returns the one value of a required parameter: printable ASCII (RFC 6749 appendix A).
    package func required(_ name: String) throws -> String {
        guard let value = try value(name), !value.isEmpty, value.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) else {
            throw Self.invalid("\(name) is missing or not readable")
        }
        return value
    }

    /// Refuses a redirect without the state of the request. Call this first, as anybody may have sent such a redirect.
    package func requireState(of request: AuthorizationRequest) throws {
        guard let state = try value("state"), RandomText.areEqual(state, request.state) else {
            throw OpenIDConnectError(.stateMismatch, "its state is not that of this sign-in")
        }
    }

    /// Returns the server's refusal (RFC 6749 section 4.1.2.1); nil if it refused nothing.
    ///
    /// - Parameter code: the name of the parameter that must not come together with a refusal.
    package func refusal(besides code: String = "code") throws -> OpenIDConnectError? {
        guard let error = try value("error") else { return nil }
        // Some servers send an empty code with an error.
        guard try (value(code) ?? "").isEmpty else { throw Self.invalid("it has both a code and an error") }
        let meaning: OpenIDConnectError.Code =
            switch error {
            case "access_denied": .denied
            case "temporarily_unavailable", "server_error": .unavailable
            default: .refused
            }
        return OpenIDConnectError(
            meaning, "", providerError: error, providerDescription: try value("error_description"))
    }

    package static func invalid(_ reason: String) -> OpenIDConnectError {
        OpenIDConnectError(.callbackInvalid, reason)
    }

    package var description: String { "AuthorizationResponse" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
