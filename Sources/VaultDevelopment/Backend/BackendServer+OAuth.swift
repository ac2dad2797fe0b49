internal import FoundationEssentials
internal import VaultBase

/// The server that announces its abilities: OAuth with registration, or an API token for user name and password.
extension BackendServer {
    private struct Tokens: Encodable {
        var id: String?
        var accessToken: String
        var tokenType = "Bearer"
        var expiresIn: Int?
        var refreshToken: String?
        var scope: String
    }

    private struct Info: Encodable {
        struct Version: Encodable {
            var canonical: String
            var release: String
            var build: String
        }

        var version: Version
        var features: [String]?
    }

    private struct RevocationRequest: Decodable {
        var token: String
    }

    func info() throws -> BackendAnswer {
        guard options.hasInfo else { throw BackendError.noSuchPage }
        let release = options.version.split(separator: ".").prefix(2).joined(separator: ".")
        return try .json(
            Info(version: .init(canonical: options.version, release: release, build: "dev"), features: features))
    }

    // MARK: OAuth

    /// Starts a login in the browser (RFC 6749 section 4.1.1, RFC 7636 section 4.3).
    func authorize(_ call: BackendCall) throws -> BackendAnswer {
        try requireOAuth()
        guard let query = call.query, query.repeated == nil, let client = client(query["client_id"]),
            client.grantTypes.contains("authorization_code")
        else { return refusal("The client is not known here.", outcome: "invalid_client") }
        guard let redirectURI = query["redirect_uri"],
            client.redirectURIs.contains(where: {
                redirectURI == $0 || options.isLenient && RedirectURI.matches(redirectURI, registered: $0)
            })
        else { return refusal("The redirect URI is not one of the client's.", outcome: "invalid_redirect_uri") }
        var login = PendingLogin(
            redirectURI: redirectURI, state: query["state"], expiresAt: options.now().addingTimeInterval(600))
        guard query["response_type"] == "code", let challenge = query["code_challenge"],
            query["code_challenge_method"] == "S256", Base64URL.decode(challenge)?.count == 32,
            let state = login.state, options.isLenient || state.count <= 64
        else { return back(to: login, error: "invalid_request") }
        guard let scope = granted(query["scope"]) else { return back(to: login, error: "invalid_scope") }
        login.oauth = OAuthWish(client: client, challenge: challenge, scope: scope)
        return show(login)
    }

    private func back(to login: PendingLogin, error: String) -> BackendAnswer {
        var answer = back(to: login, [("error", error)])
        answer.outcome = .init(rawValue: error)
        return answer
    }

    /// Returns the scopes to grant; nil for a request without any scope, or with one that the server does not have.
    func granted(_ scope: String?) -> [String]? {
        let asked = (scope ?? "").split(separator: " ").map(String.init)
        guard options.isLenient || !asked.isEmpty && asked.allSatisfy(options.oauthScopes.contains) else { return nil }
        return options.oauthScopes.filter(asked.contains)
    }

    /// The token endpoint, which accepts only forms (RFC 6749 section 4.1.3).
    func oauthToken(_ call: BackendCall) throws -> BackendAnswer {
        try requireOAuth()
        guard let form = call.form, form.repeated == nil, let grantType = form["grant_type"] else {
            throw BackendError.oauth("invalid_request", "The body is not a form with a grant_type.")
        }
        guard let client = client(form["client_id"]) else {
            throw BackendError.oauth("invalid_client", "The client is not known here.", status: 401)
        }
        let session: UUID
        switch grantType {
        case "authorization_code":
            guard let code = take(form["code"], redirectURI: form["redirect_uri"], clientID: client.identifier),
                let wish = code.login.oauth, let verifier = form["code_verifier"],
                Base64URL.encode(digest(verifier)) == wish.challenge
            else { throw BackendError.oauth("invalid_grant", "The code, or a parameter of its request, is not valid.") }
            session = newSession(of: code.username, clientID: client.identifier, scope: wish.scope)
            // Readeck forgets a client after its token.
            if !options.isLenient { clients[client.identifier] = nil }
        case OAuthClientRequest.deviceGrant: session = try pollDevice(form["device_code"], of: client)
        case "refresh_token" where issuesRefreshTokens:
            do {
                session = try useRefreshToken(form["refresh_token"] ?? "", clientID: client.identifier)
            } catch {
                var error = error
                error.status = 400
                error.oauthCode = "invalid_grant"
                throw error
            }
        default: throw BackendError.oauth("unsupported_grant_type", "This grant type is not supported.")
        }
        return try tokens(for: session, grantType: grantType)
    }

    private func tokens(for session: UUID, grantType: String) throws -> BackendAnswer {
        guard let known = sessions[session] else { throw BackendError.oauth("invalid_grant", "The session ended.") }
        let lifetime = issuesRefreshTokens ? options.accessTokenLifetime : nil
        var tokens = Tokens(accessToken: randomIdentifier(), scope: known.scope.joined(separator: " "))
        if !options.isLenient { tokens.id = session.uuidString.lowercased() }
        if options.announcesLifetime { tokens.expiresIn = lifetime }
        newAccessToken(tokens.accessToken, session: session, lifetime: lifetime)
        if issuesRefreshTokens {
            let refresh = randomIdentifier()
            newRefreshToken(refresh, session: session)
            tokens.refreshToken = refresh
        }
        var answer = try BackendAnswer.json(tokens, status: options.isLenient ? 200 : 201, username: known.username)
        answer.grantType = grantType
        if grantType == "refresh_token" { answer.presentedGeneration = known.generation - 1 }
        if issuesRefreshTokens { answer.issuedGeneration = known.generation }
        return answer
    }

    /// Ends a token (RFC 7009). At Readeck, a token ends only itself: the header must have the same token.
    func revokeOAuthToken(_ call: BackendCall) throws -> BackendAnswer {
        try requireOAuth()
        var username: String?
        if !options.isLenient { username = try user(bearing: call.bearer).username }
        let token = try call.form?["token"] ?? call.body(RevocationRequest.self).token
        guard options.isLenient || token == call.bearer else {
            throw BackendError.oauth("access_denied", "A token ends only itself.")
        }
        let session = accessTokens[digest(token)]?.session ?? refreshTokens[digest(token)]?.session
        if let session { end(session) }
        return try .json([String: String](), username: username)
    }

    /// Whether the token endpoint issues refresh tokens. Readeck's does not.
    var issuesRefreshTokens: Bool { options.isLenient && options.oauthIssuesRefreshToken }

    var hasOAuth: Bool { features?.contains("oauth") == true }

    func requireOAuth() throws(BackendError) {
        guard hasOAuth else { throw .noSuchPage }
    }
}
