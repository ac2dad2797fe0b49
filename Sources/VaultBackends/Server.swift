internal import Foundation
internal import OpenIDConnect
internal import VaultAuth
internal import VaultHTTP
internal import VaultJSON
internal import VaultStorage

/// A server that says what it can.
struct Server: Sendable {
    let connection: BackendConnection
    let layout: BackendLayout.Server
    let clock: any WallClock

    /// One login in the browser (RFC 6749 section 4.1.1, RFC 7636). It does not print its secrets.
    struct Authorization: Sendable, CustomReflectable, CustomStringConvertible, CustomDebugStringConvertible {
        let client: LoginClient
        let redirectURI: String
        let state = RandomText.make()
        let verifier = RandomText.make()

        var description: String { "Authorization(\(redirectURI))" }
        var debugDescription: String { description }
        var customMirror: Mirror { Mirror(self, children: ["redirectURI": redirectURI]) }
    }

    /// Asks what the server can. Also a server without OAuth answers, so that no password goes to any other one.
    func hasOAuth() async throws -> Bool {
        let features = try await connection.get(layout.info)[path: layout.features]
        return features?.array?.contains(.string(layout.oauthFeature)) == true
    }

    // MARK: - OAuth

    /// Registers a client that can send the browser to `redirectURI`.
    func register(_ name: String, redirectURI: String) async throws -> LoginClient {
        let details = layout.clientDetails.map { (path: $0.key, value: JSONValue.string($0.value)) }
        let answer = try await connection.post(
            layout.client,
            json: JSONValue(
                details + [
                    (layout.clientName, .string(name)), (layout.redirectURIs, .array([.string(redirectURI)])),
                    ("grant_types", .array([.string("authorization_code"), .string("refresh_token")])),
                    ("response_types", .array([.string("code")])), ("token_endpoint_auth_method", .string("none")),
                ]), secrets: [])
        guard let id = BackendTokens.token(answer, layout.clientID) else {
            throw OpenIDConnectError(.invalidAnswer, "the registration has no client ID", mayHaveBeenProcessed: true)
        }
        // Some give a secret even to a client that is to use none.
        let usesNone = answer["token_endpoint_auth_method"]?.string == "none"
        return LoginClient(id: id, secret: usesNone ? nil : BackendTokens.token(answer, layout.clientSecret))
    }

    /// The address to open in the browser.
    func url(of request: Authorization, scopes: [String]) -> String {
        var parameters = [
            (name: "response_type", value: "code"), ("client_id", request.client.id),
            ("redirect_uri", request.redirectURI), ("state", request.state),
            ("code_challenge", AuthorizationRequest.challenge(for: request.verifier)),
            ("code_challenge_method", "S256"),
        ]
        if !scopes.isEmpty { parameters.append(("scope", scopes.joined(separator: " "))) }
        return EndpointURL.adding(parameters, to: connection.endpoint.url(layout.authorize))
    }

    /// Ends a login in the browser.
    func redeem(_ request: Authorization, _ redirect: String) async throws -> RefreshToken {
        let callback = try RedirectAnswer(redirect)
        let state = try callback.value("state")
        guard let state, RandomText.areEqual(state, request.state) else {
            // Some servers leave the state out when the person says no; at worst somebody else said it.
            if state == nil, let refusal = try callback.refusal(besides: "code"), refusal.code == .denied {
                throw refusal
            }
            throw OpenIDConnectError(.stateMismatch, "its state is not that of this sign-in")
        }
        // Servers that name themselves (RFC 9207) do so by their address; a path in it is their own affair.
        if let issuer = try callback.value("iss"), Origin(issuer) != Origin(connection.endpoint.url) {
            throw RedirectAnswer.invalid("it comes from another server")
        }
        if let refusal = try callback.refusal(besides: "code") { throw refusal }
        let (code, now) = (try callback.required("code"), clock.now)
        let answer = try await connection.post(
            layout.token,
            form: form(
                of: request.client.id, request.client.secret, "authorization_code",
                [("code", code), ("redirect_uri", request.redirectURI), ("code_verifier", request.verifier)]),
            secrets: [code, request.verifier, request.client.secret])
        return try await signedIn(
            BackendTokens(answer, layout.tokens, sentAt: now), clientID: request.client.id,
            clientSecret: request.client.secret, method: .serverOAuth)
    }

    /// Exchanges a refresh token.
    func refresh(_ credential: Credential, clientID: String) async throws -> JSONValue {
        try await connection.post(
            layout.token,
            form: form(
                of: clientID, credential.clientSecret, "refresh_token", [("refresh_token", credential.value)]),
            secrets: [credential.value, credential.clientSecret]
        ) { _, error in error == "invalid_grant" ? .invalidGrant : nil }
    }

    func form(
        of clientID: String, _ clientSecret: String?, _ grant: String, _ parameters: ProviderConnection.Form
    ) -> ProviderConnection.Form {
        [("grant_type", grant), ("client_id", clientID)] + (clientSecret.map { [("client_secret", $0)] } ?? [])
            + parameters
    }

    // MARK: - API tokens

    /// Gets an API token for user name and password.
    func newAPIToken(username: String, password: String) async throws -> BackendTokens {
        let now = clock.now
        let answer = try await connection.post(
            layout.apiToken,
            credentials: JSONValue([
                (layout.application, .string(layout.applicationName)), (layout.username, .string(username)),
                (layout.password, .string(password)),
            ]), password: password, refusals: [401, 403], now: now)
        var fields = layout.tokens
        fields.accessToken = layout.issuedToken
        return try BackendTokens(answer, fields, sentAt: now)
    }

    // MARK: - Both

    /// Finds out whose tokens they are.
    func signedIn(
        _ tokens: BackendTokens, clientID: String, clientSecret: String? = nil, method: SignInMethod
    ) async throws -> RefreshToken {
        let user = try BackendUser(
            try await connection.get(layout.profile, token: tokens.accessToken), layout.user)
        let now = clock.now
        guard method == .serverOAuth, let refreshToken = tokens.refreshToken else {
            let credential = Credential(
                value: tokens.accessToken, scope: tokens.scope, expiresAt: tokens.expiresAt, clientSecret: clientSecret,
                isAccessToken: true)
            return RefreshToken(
                standing: credential, user: user, endpoint: connection.endpoint, method: method, clientID: clientID,
                at: now)
        }
        return RefreshToken(
            Credential(value: refreshToken, scope: tokens.scope, clientSecret: clientSecret),
            account: AccountID(issuer: connection.endpoint.url, subject: user.id), method: method, clientID: clientID,
            identity: user.identity,
            accessToken: AccessToken(
                value: tokens.accessToken, tokenType: "Bearer", expiresAt: tokens.expiresAt, scope: tokens.scope,
                obtainedAt: now))
    }
}
