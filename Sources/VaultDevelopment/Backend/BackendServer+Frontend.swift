internal import FoundationEssentials

/// The backend in front of an identity provider. The app uses neither PKCE nor refresh tokens.
extension BackendServer {
    private struct TokenRequest: Decodable {
        var code: String
        var state: String
        var redirectUri: String
        var codeVerifier: String?
    }

    private struct TokenAnswer: Encodable {
        var accessToken: String
        var tokenType = "Bearer"
        var expiresIn: Int?
        var user: [String: String]
    }

    /// Exchanges a code for an access token.
    func redeemCode(_ call: BackendCall) throws -> BackendAnswer {
        let body = try call.body(TokenRequest.self)
        guard body.codeVerifier == nil else {
            throw BackendError.invalidRequest("There is no PKCE here: remove code_verifier.")
        }
        guard let code = take(body.code, redirectURI: body.redirectUri, clientID: nil), code.login.state == body.state,
            let user = users.first(where: { $0.username == code.username })
        else {
            throw BackendError(
                "The code, the state or the redirect URI is not valid.", status: 400, outcome: "invalid_grant")
        }
        let session = newSession(of: user.username)
        let token = randomIdentifier()
        newAccessToken(token, session: session, lifetime: options.accessTokenLifetime)
        return try .json(
            TokenAnswer(
                accessToken: token, expiresIn: options.announcesLifetime ? options.accessTokenLifetime : nil,
                user: object(for: user)),
            username: user.username)
    }

    /// Returns the person of an access token.
    func me(_ call: BackendCall) throws -> BackendAnswer {
        let user = try user(bearing: call.bearer)
        return try .json(object(for: user), username: user.username)
    }

    /// Returns the user for the app: a dictionary, as its names are not the protocol's.
    func object(for user: User) -> [String: String] {
        var object = ["id": user.subject, "username": user.username, "email": user.email]
        if !user.name.isEmpty { object["fullName"] = user.name }
        return object
    }
}
