internal import FoundationEssentials
internal import VaultBase

/// The server that announces its abilities: OAuth with registration, or an API token for user name and password.
extension BackendServer {
    struct OAuthClient {
        var identifier: String
        var name: String
        var redirectURIs: [String]
    }

    private struct ClientRequest: Decodable {
        var clientName: String
        var redirectUris: [String]
    }

    private struct ClientAnswer: Encodable {
        var clientId: String
        var clientName: String
        var redirectUris: [String]
        var grantTypes: [String]
        var responseTypes = ["code"]
        var tokenEndpointAuthMethod = "none"
    }

    private struct Tokens: Encodable {
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

    func info() throws -> BackendAnswer {
        let release = options.version.split(separator: ".").prefix(2).joined(separator: ".")
        return try .json(
            Info(version: .init(canonical: options.version, release: release, build: "dev"), features: features))
    }

    // MARK: OAuth

    func register(_ call: BackendCall) throws -> BackendAnswer {
        try requireOAuth()
        let body = try call.body(ClientRequest.self)
        guard !body.clientName.isEmpty, !body.redirectUris.isEmpty,
            body.redirectUris.allSatisfy(RedirectURI.isRegistrable)
        else { throw BackendError.oauth("invalid_client_metadata", "The name or a redirect URI cannot be used.") }
        let client = OAuthClient(
            identifier: UUID().uuidString.lowercased(), name: body.clientName, redirectURIs: body.redirectUris)
        clients[client.identifier] = client
        return try .json(
            ClientAnswer(
                clientId: client.identifier, clientName: client.name, redirectUris: client.redirectURIs,
                grantTypes: ["authorization_code"] + (options.oauthIssuesRefreshToken ? ["refresh_token"] : [])),
            status: 201)
    }

    /// Starts a login in the browser (RFC 6749 section 4.1.1, RFC 7636 section 4.3).
    func authorize(_ call: BackendCall) throws -> BackendAnswer {
        try requireOAuth()
        guard let query = call.query, query.repeated == nil, let client = query["client_id"].flatMap({ clients[$0] })
        else { return refusal("The client is not known here.", outcome: "invalid_client") }
        guard let redirectURI = query["redirect_uri"],
            client.redirectURIs.contains(where: { RedirectURI.matches(redirectURI, registered: $0) })
        else { return refusal("The redirect URI is not one of the client's.", outcome: "invalid_redirect_uri") }
        var login = PendingLogin(
            redirectURI: redirectURI, state: query["state"], expiresAt: options.now().addingTimeInterval(600))
        guard query["response_type"] == "code", let challenge = query["code_challenge"],
            query["code_challenge_method"] == "S256", Base64URL.decode(challenge)?.count == 32, login.state != nil
        else {
            var answer = back(to: login, [("error", "invalid_request")])
            answer.outcome = .init(rawValue: "invalid_request")
            return answer
        }
        let asked = (query["scope"] ?? "").split(separator: " ").map(String.init)
        login.oauth = OAuthWish(
            client: client, challenge: challenge, scope: options.oauthScopes.filter(asked.contains))
        return show(login)
    }

    /// The token endpoint, which accepts only forms (RFC 6749 section 4.1.3).
    func oauthToken(_ call: BackendCall) throws -> BackendAnswer {
        try requireOAuth()
        guard let form = call.form, form.repeated == nil, let grantType = form["grant_type"] else {
            throw BackendError.oauth("invalid_request", "The body is not a form with a grant_type.")
        }
        guard let client = form["client_id"].flatMap({ clients[$0] }) else {
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
        case "refresh_token" where options.oauthIssuesRefreshToken:
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
        let lifetime = options.oauthIssuesRefreshToken ? options.accessTokenLifetime : nil
        var tokens = Tokens(accessToken: randomIdentifier(), scope: known.scope.joined(separator: " "))
        if options.announcesLifetime { tokens.expiresIn = lifetime }
        newAccessToken(tokens.accessToken, session: session, lifetime: lifetime)
        if options.oauthIssuesRefreshToken {
            let refresh = randomIdentifier()
            newRefreshToken(refresh, session: session)
            tokens.refreshToken = refresh
        }
        var answer = try BackendAnswer.json(tokens, username: known.username)
        answer.grantType = grantType
        if grantType == "refresh_token" { answer.presentedGeneration = known.generation - 1 }
        if options.oauthIssuesRefreshToken { answer.issuedGeneration = known.generation }
        return answer
    }

    private func requireOAuth() throws(BackendError) {
        guard features?.contains("oauth") == true else {
            throw BackendError("There is no such page.", status: 404, outcome: "not_found")
        }
    }

    // MARK: API tokens

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
            var id: String
            var username: String
            var email: String
        }

        var user: User
    }

    /// Exchanges user name and password for a token without expiry.
    func newAPIToken(_ call: BackendCall) throws -> BackendAnswer {
        let body = try call.body(APITokenRequest.self)
        guard !body.application.isEmpty else { throw BackendError.invalidRequest("The application has no name.") }
        guard let user = users.first(where: { $0.username == body.username }), user.password == body.password
        else {
            throw BackendError(
                "The username or the password is wrong.", status: 401,
                outcome: BackendRequest.Outcome.wrongPassword.rawValue)
        }
        let token = APIToken(id: UUID().uuidString.lowercased(), token: randomIdentifier())
        accessTokens[digest(token.token)] = AccessToken(username: user.username)
        return try .json(token, status: 201, username: user.username)
    }

    /// Returns the person of a token.
    func profile(_ call: BackendCall) throws -> BackendAnswer {
        let user = try user(bearing: call.bearer)
        return try .json(
            Profile(user: .init(id: user.subject, username: user.username, email: user.email)),
            username: user.username)
    }
}
