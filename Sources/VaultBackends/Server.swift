internal import Foundation
internal import OpenIDConnect
internal import VaultAuth
internal import VaultBase
internal import VaultStorage

/// A server that announces its abilities.
struct Server: Sendable {
    let connection: BackendConnection
    let layout: BackendLayout.Server
    let clock: any WallClock

    /// Asks the server for its abilities. A server without OAuth must answer, too, so no password goes to a wrong
    /// server.
    func hasOAuth() async throws -> Bool {
        let features = try await connection.get(layout.info)[path: layout.features]
        return features?.array?.contains(.string(layout.oauthFeature)) == true
    }

    // MARK: - OAuth

    /// Registers a client that can send the browser to `redirectURI`.
    func register(_ name: String, redirectURI: String) async throws -> LoginClient {
        var fields = ProviderConnection.RegistrationFields()
        fields.clientName = layout.clientName
        fields.redirectURIs = layout.redirectURIs
        fields.clientID = layout.clientID
        fields.clientSecret = layout.clientSecret
        let client = try await connection.http.register(
            ClientMetadata(name: name, redirectURIs: [redirectURI]), at: connection.endpoint.url(layout.client),
            fields: fields, details: JSONValue(layout.clientDetails.map { ($0.key, .string($0.value)) }))
        return LoginClient(id: client.clientID, secret: client.clientSecret)
    }

    /// Makes a client of this server. Its secret goes into the form, like its other parameters.
    func client(id: String, secret: String?) -> OAuthClient {
        OAuthClient(
            id: id, secret: secret,
            exchange: DPoPExchange(connection: connection.http, nonces: DPoPNonces(), clock: clock), clock: clock)
    }

    /// Completes a login in the browser.
    func redeem(_ request: AuthorizationRequest, of client: LoginClient, _ redirect: String) async throws
        -> SignInResult
    {
        let response = try AuthorizationResponse(redirect)
        // Some servers leave the state out of a refusal. At worst, a forged refusal ends this login.
        if try response.value("state") == nil, let refusal = try response.refusal(), refusal.code == .denied {
            throw refusal
        }
        try response.requireState(of: request)
        // The issuer in a redirect is the server's address (RFC 9207). Its path does not matter.
        if let issuer = try response.value("iss"), Origin(issuer) != Origin(connection.endpoint.url) {
            throw AuthorizationResponse.invalid("it comes from another server")
        }
        if let refusal = try response.refusal() { throw refusal }
        let tokens = try await self.client(id: client.id, secret: client.secret).redeem(
            .authorizationCode(
                try response.required("code"), redirectURI: request.redirectURI, verifier: request.verifier), at: self)
        return try await signedIn(
            try tokens.usable(), clientID: client.id, clientSecret: client.secret, method: .serverOAuth)
    }

    // MARK: - API tokens

    /// Gets an API token for user name and password.
    func newAPIToken(username: String, password: String) async throws -> TokenAnswer {
        let now = clock.now
        let answer = try await connection.post(
            layout.apiToken,
            credentials: JSONValue([
                (layout.application, .string(layout.applicationName)), (layout.username, .string(username)),
                (layout.password, .string(password)),
            ]), password: password, refusals: [401, 403], now: now)
        var fields = layout.tokens.fields
        fields.accessToken = layout.issuedToken
        return try TokenAnswer(answer, fields, sentAt: now).usable()
    }

    // MARK: - Both

    /// Finds the person of the tokens.
    func signedIn(
        _ tokens: TokenAnswer, clientID: String, clientSecret: String? = nil, method: SignInMethod
    ) async throws -> SignInResult {
        let user = try BackendUser(
            try await connection.get(layout.profile, token: tokens.accessToken), layout.user)
        let now = clock.now
        guard method == .serverOAuth, let refreshToken = tokens.refreshToken else {
            let credential = Credential(
                value: tokens.accessToken, scope: tokens.scope, expiresAt: tokens.expiresAt, clientSecret: clientSecret,
                isAccessToken: true)
            return SignInResult(
                standing: credential, user: user, endpoint: connection.endpoint, method: method, clientID: clientID,
                at: now)
        }
        return SignInResult(
            Credential(value: refreshToken, scope: tokens.scope, clientSecret: clientSecret),
            account: AccountID(issuer: connection.endpoint.url, subject: user.id), method: method, clientID: clientID,
            identity: user.identity,
            accessToken: AccessToken(
                value: tokens.accessToken, tokenType: "Bearer", expiresAt: tokens.expiresAt, scope: tokens.scope,
                obtainedAt: now))
    }
}

extension Server: AuthorizationServer {
    var issuer: String { connection.endpoint.url }
    var authorizationEndpoint: String { connection.endpoint.url(layout.authorize) }
    var tokenEndpoint: String { connection.endpoint.url(layout.token) }
    var revocationEndpoint: String? {
        layout.oauthRevocation.isEmpty ? nil : connection.endpoint.url(layout.oauthRevocation)
    }
    var tokenEndpointAuthMethodsSupported: [String]? { ["client_secret_post"] }
    // A proxy in front of the server may have sent the refusal.
    var refusesDeadGrantsSilently: Bool { false }
    var tokenFields: TokenAnswer.Fields { layout.tokens.fields }
}
