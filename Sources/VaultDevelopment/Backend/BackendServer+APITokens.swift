internal import FoundationEssentials

/// The API tokens of the server that announces its abilities, and the person of any token.
extension BackendServer {
    private struct APITokenRequest: Decodable {
        var application: String
        var username: String
        var password: String
    }

    private struct APIToken: Encodable {
        var id: String
        var token: String
    }

    private struct Profile: Encodable {
        struct User: Encodable {
            var id: String?
            var username: String
            var email: String?
        }

        var user: User
    }

    /// Exchanges user name and password for a token without expiry. Readeck 0.22 has no such call.
    func newAPIToken(_ call: BackendCall) throws -> BackendAnswer {
        guard options.isLenient || !hasOAuth else { throw BackendError.noSuchPage }
        let body = try call.body(APITokenRequest.self)
        guard !body.application.isEmpty else { throw BackendError.invalidRequest("The application has no name.") }
        guard let user = users.first(where: { $0.username == body.username }), user.password == body.password
        else {
            throw BackendError(
                "The username or the password is wrong.", status: options.isLenient ? 401 : 403,
                outcome: BackendRequest.Outcome.wrongPassword.rawValue)
        }
        return try .json(
            APIToken(id: UUID().uuidString.lowercased(), token: makeAPIToken(for: user)), status: 201,
            username: user.username)
    }

    /// Makes a token without expiry.
    func makeAPIToken(for user: User) -> String {
        let token = randomIdentifier()
        accessTokens[digest(token)] = AccessToken(username: user.username)
        return token
    }

    /// Shows the login page of a person who wants a new API token.
    func showAPITokenPage() -> BackendAnswer {
        show(PendingLogin(expiresAt: options.now().addingTimeInterval(600), ending: .apiToken))
    }

    /// Returns the person of a token. Readeck has no identifiers besides names, and shows the e-mail address only to
    /// tokens that may see the profile.
    func profile(_ call: BackendCall) throws -> BackendAnswer {
        let user = try user(bearing: call.bearer)
        let seesEmail = options.isLenient || scope(of: call.bearer)?.contains("profile:read") ?? true
        return try .json(
            Profile(
                user: .init(
                    id: options.isLenient ? user.subject : nil, username: user.username,
                    email: seesEmail ? user.email : nil)),
            username: user.username)
    }

    /// Returns the scopes of an OAuth token; nil for another token, which may do everything.
    private func scope(of token: String?) -> [String]? {
        guard let session = token.flatMap({ accessTokens[digest($0)]?.session }), let known = sessions[session],
            known.clientID != nil
        else { return nil }
        return known.scope
    }
}
