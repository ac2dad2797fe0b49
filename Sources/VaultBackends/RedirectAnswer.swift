internal import OpenIDConnect
internal import VaultAuth

/// What came back with the browser from a backend. It does not print its parameters, of which one is the code.
struct RedirectAnswer: CustomReflectable, CustomStringConvertible, CustomDebugStringConvertible {
    private let parameters: [(name: String, value: String)]

    /// - Parameter redirect: the URL, or its path and query.
    /// - Throws: `stateMismatch` when it cannot be read or has two states: then it is not known to be of any sign-in.
    init(_ redirect: String) throws {
        guard redirect.utf8.count <= 16 * 1024, let question = redirect.firstIndex(of: "?"),
            let parameters = FormParameters.decode(
                redirect[redirect.index(after: question)...].prefix { $0 != "#" })
        else { throw OpenIDConnectError(.stateMismatch, "it has no readable query") }
        guard parameters.filter({ $0.name == "state" }).count <= 1 else {
            throw OpenIDConnectError(.stateMismatch, "its state comes more than once")
        }
        self.parameters = parameters
    }

    /// The one value of a parameter; nil when it is missing.
    func value(_ name: String) throws -> String? {
        let values = parameters.filter { $0.name == name }.map(\.value)
        guard values.count <= 1 else { throw Self.invalid("\(name) comes more than once") }
        return values.first
    }

    /// The one value of a parameter that has to be there.
    func required(_ name: String) throws -> String {
        guard let value = try value(name), !value.isEmpty else { throw Self.invalid("\(name) is missing") }
        return value
    }

    /// What the backend refused, in OAuth's words (RFC 6749 section 4.1.2.1); nil when it refused nothing.
    ///
    /// - Parameter code: what may not be there together with that.
    func refusal(besides code: String) throws -> OpenIDConnectError? {
        guard let error = try value("error") else { return nil }
        guard try value(code) == nil else { throw Self.invalid("it has both a code and an error") }
        let meaning: OpenIDConnectError.Code =
            switch error {
            case "access_denied": .denied
            case "temporarily_unavailable", "server_error": .unavailable
            default: .refused
            }
        return OpenIDConnectError(
            meaning, "", providerError: error, providerDescription: try value("error_description"))
    }

    var description: String { "RedirectAnswer" }
    var debugDescription: String { description }
    var customMirror: Mirror { Mirror(self, children: []) }

    static func invalid(_ reason: String) -> OpenIDConnectError { OpenIDConnectError(.callbackInvalid, reason) }
}
