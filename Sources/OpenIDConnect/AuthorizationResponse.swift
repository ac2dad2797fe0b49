/// The checked redirect (RFC 6749 section 4.1.2, RFC 9207).
enum AuthorizationResponse {
    /// Takes the authorization code out of a redirect.
    ///
    /// - Parameter callback: the redirect URL, or its path and query.
    /// - Throws: ``OpenIDConnectError``: `stateMismatch` for whatever is not known to be the answer to `request`, and for
    ///   what is `callbackInvalid`, `denied`, `refused` or `unavailable`.
    static func code(in callback: String, for request: AuthorizationRequest) throws -> String {
        guard callback.utf8.count <= 16 * 1024, let question = callback.firstIndex(of: "?"),
            let parameters = FormParameters.decode(
                callback[callback.index(after: question)...].prefix { $0 != "#" })
        else { throw OpenIDConnectError(.stateMismatch, "it has no readable query") }
        // First of all: without the state nothing in the redirect is known to come from the provider.
        let states = parameters.filter { $0.name == "state" }.map(\.value)
        guard states.count == 1, RandomText.areEqual(states[0], request.state) else {
            throw OpenIDConnectError(.stateMismatch, "its state is not that of this sign-in")
        }

        func value(_ name: String) throws -> String? {
            let values = parameters.filter { $0.name == name }.map(\.value)
            guard values.count <= 1 else { throw OpenIDConnectError(.callbackInvalid, "\(name) comes more than once") }
            return values.first
        }
        let (code, issuer, error) = (try value("code"), try value("iss"), try value("error"))
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
            throw refusal(
                error, description: try value("error_description"), showsNothing: request.showsNothing)
        }
        guard let code, !code.isEmpty, code.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) else {
            throw OpenIDConnectError(.callbackInvalid, "it has no authorization code")
        }
        return code
    }

    /// - Parameter showsNothing: whether the provider was asked with `prompt=none`.
    private static func refusal(_ error: String, description: String?, showsNothing: Bool) -> OpenIDConnectError {
        if showsNothing, let need = needs[error] {
            return OpenIDConnectError(
                .interactionRequired, "\(need). Leave prompt=none out to let it ask", providerError: error,
                providerDescription: description)
        }
        let code: OpenIDConnectError.Code =
            switch error {
            case "access_denied": .denied
            case "temporarily_unavailable", "server_error": .unavailable
            default: .refused
            }
        return OpenIDConnectError(code, "", providerError: error, providerDescription: description)
    }

    /// What the person would have to do (OpenID Connect Core section 3.1.2.6).
    private static let needs = [
        "login_required": "nobody is logged in there in this browser",
        "interaction_required": "the person has to do something there first",
        "consent_required": "the person has to allow this program something there first",
        "account_selection_required": "the person has to choose an account there first",
    ]
}
