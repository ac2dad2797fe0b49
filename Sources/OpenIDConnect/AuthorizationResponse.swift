/// The checked redirect (RFC 6749 section 4.1.2, RFC 9207).
enum AuthorizationResponse {
    /// Takes the authorization code out of a redirect.
    ///
    /// - Parameter callback: the redirect URL, or its path and query.
    /// - Throws: ``OpenIDConnectError``: `callbackInvalid`, `stateMismatch`, `denied`, `refused` or `unavailable`.
    static func code(in callback: String, for request: AuthorizationRequest) throws -> String {
        guard callback.utf8.count <= 16 * 1024, let question = callback.firstIndex(of: "?"),
            let parameters = FormParameters.decode(
                callback[callback.index(after: question)...].prefix { $0 != "#" })
        else { throw OpenIDConnectError(.callbackInvalid, "it has no readable query") }

        func value(_ name: String) throws -> String? {
            let values = parameters.filter { $0.name == name }.map(\.value)
            guard values.count <= 1 else { throw OpenIDConnectError(.callbackInvalid, "\(name) comes more than once") }
            return values.first
        }
        let (code, state, issuer, error) = (try value("code"), try value("state"), try value("iss"), try value("error"))

        // First of all: without the state nothing in the redirect is known to come from the provider.
        guard let state, RandomText.areEqual(state, request.state) else {
            throw OpenIDConnectError(.stateMismatch, "its state is not that of this sign-in")
        }
        if let issuer {
            guard issuer == request.metadata.issuer else {
                throw OpenIDConnectError(.callbackInvalid, "it comes from another issuer")
            }
        } else if request.metadata.authorizationResponseIssParameterSupported, error == nil {
            // A refusal has nothing in it that could go to the wrong place, and some providers leave the issuer out there.
            throw OpenIDConnectError(.callbackInvalid, "its issuer is missing")
        }
        if let error {
            guard code == nil else { throw OpenIDConnectError(.callbackInvalid, "it has both a code and an error") }
            throw refusal(error, description: try value("error_description"))
        }
        guard let code, !code.isEmpty, code.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) else {
            throw OpenIDConnectError(.callbackInvalid, "it has no authorization code")
        }
        return code
    }

    private static func refusal(_ error: String, description: String?) -> OpenIDConnectError {
        let code: OpenIDConnectError.Code =
            switch error {
            case "access_denied": .denied
            case "temporarily_unavailable", "server_error": .unavailable
            default: .refused
            }
        return OpenIDConnectError(code, "", providerError: error, providerDescription: description)
    }
}
