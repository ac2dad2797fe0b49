internal import Crypto
internal import FoundationEssentials

/// The logout in the browser (OpenID Connect RP-Initiated Logout 1.0).
extension AuthorizationServer {
    enum LogoutStep {
        case redirect(String)
        case done
        case refuse(String)
    }

    private struct Hint: Decodable {
        var iss: String
        var sub: String
        var aud: String
    }

    /// Handles a logout. Nobody stays logged in here, so there is no question to the person, and tokens do not change.
    /// The browser is sent back only to the client of an ID token (section 3).
    func endSession(_ parameters: FormParameters?) -> LogoutStep {
        guard let parameters, parameters.repeated == nil else {
            log(.init(.endSession, .init(rawValue: "invalid_request")))
            return .refuse("The address is damaged.")
        }
        var entry = ProviderRequest(.endSession, .ok, clientID: parameters["client_id"])
        defer { log(entry) }
        var client: Client?
        if let text = parameters["id_token_hint"] {
            guard let hint = hint(text), entry.clientID ?? hint.aud == hint.aud else {
                entry.outcome = .init(rawValue: "invalid_id_token_hint")
                return .refuse("The ID token belongs to another provider or client.")
            }
            client = self.client(hint.aud)
            entry.clientID = hint.aud
            entry.username = options.users.first { $0.subject == hint.sub }?.username
        }
        guard let target = parameters["post_logout_redirect_uri"], let client else { return .done }
        guard client.allows(postLogoutRedirectURI: target) else {
            entry.outcome = .init(rawValue: "invalid_redirect_uri")
            return .refuse("The redirect URI “\(target)” is not allowed for this client.")
        }
        guard let state = parameters["state"] else { return .redirect(target) }
        return .redirect(RedirectURI.adding([("state", state)], to: target))
    }

    /// Returns the claims of an ID token with a signature from here. It may have expired.
    private func hint(_ text: String) -> Hint? {
        guard let token = CompactJWT(text), token.header.alg == "ES256",
            let key = state.signingKeys.first(where: { $0.keyID == token.header.kid }),
            let privateKey = try? P256.Signing.PrivateKey(rawRepresentation: key.privateKey),
            token.isSigned(by: privateKey.publicKey),
            let hint = try? JSONDecoder().decode(Hint.self, from: token.payload), hint.iss == issuer
        else { return nil }
        return hint
    }
}
