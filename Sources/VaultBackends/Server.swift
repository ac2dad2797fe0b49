internal import Foundation
internal import HTTPTypes
internal import OpenIDConnect
internal import VaultAuth
internal import VaultBase
internal import VaultHTTP
internal import VaultStorage

/// A server that announces its abilities.
struct Server: Sendable {
    let connection: BackendConnection
    let layout: BackendLayout.Server
    let clock: any WallClock

    /// Asks the server for its abilities. Returns nil if the server has no such call, like the oldest servers.
    func information() async throws -> ServerInformation? {
        guard !layout.info.isEmpty else { return nil }
        do {
            return ServerInformation(try await connection.get(layout.info), layout)
        } catch let error as OpenIDConnectError where error.status == 404 || error.status == 410 {
            return nil
        }
    }

    /// Returns the scopes to ask for.
    ///
    /// - Parameter settings: the scopes of the settings. Those of OpenID Connect mean nothing at this server.
    func scopes(over settings: [String]) -> [String] {
        settings.isEmpty || settings.contains("openid") ? layout.scopes : settings
    }

    // MARK: - OAuth

    /// Registers a client that can send the browser to `redirectURI`.
    ///
    /// - Parameter grantTypes: nil for those of the layout.
    /// - Throws: also ``VaultError`` with the detail `clientPageMissing`.
    func register(_ name: String, redirectURI: String, grantTypes: [String]? = nil) async throws -> LoginClient {
        var fields = ProviderConnection.RegistrationFields()
        fields.clientName = layout.clientName
        fields.redirectURIs = layout.redirectURIs
        fields.clientID = layout.clientID
        fields.clientSecret = layout.clientSecret
        let details = layout.clientDetails.filter { !$0.value.isEmpty }
        do {
            let client = try await connection.http.register(
                ClientMetadata(name: name, redirectURIs: [redirectURI]), at: connection.endpoint.url(layout.client),
                fields: fields, grantTypes: grantTypes ?? layout.grantTypes,
                details: JSONValue(details.map { ($0.key, .string($0.value)) }))
            return LoginClient(id: client.clientID, secret: client.clientSecret)
        } catch let error as OpenIDConnectError
            where error.providerError == "invalid_client_metadata" && details["client_uri"] == nil
        {
            throw VaultError(
                .configurationInvalid,
                "\(error.description) The server may want the address of a page about this app, as client_uri.",
                detail: .clientPageMissing, underlying: error)
        }
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

    /// Whether the server gives API tokens for user names and passwords. It is asked without a password, so that no
    /// password goes to a server that has no such call.
    ///
    /// - Throws: ``OpenIDConnectError``, also `unavailable` if the server is out of order.
    func takesPasswords() async throws -> Bool {
        guard !layout.apiToken.isEmpty else { return false }
        let answer = try await connection.http.post(connection.endpoint.url(layout.apiToken), json: .object([:]))
        let status = answer.status.code
        if let outage = ProviderConnection.outage(status) { throw outage }
        return BackendConnection.isThere(status)
    }

    /// Gets an API token for user name and password.
    func newAPIToken(username: String, password: String) async throws -> TokenAnswer {
        let now = clock.now
        let answer = try await connection.post(
            layout.apiToken,
            credentials: JSONValue([
                (layout.application, .string(layout.applicationName)), (layout.username, .string(username)),
                (layout.password, .string(password)),
            ]), secrets: [password], refusals: [401, 403], now: now
        ).answer
        var fields = layout.tokens.fields
        fields.accessToken = layout.issuedToken
        return try TokenAnswer(answer, fields, sentAt: now).usable()
    }

    // MARK: - Both

    /// Finds the person of the tokens.
    ///
    /// - Parameter meaning: the meaning of a refusal.
    func signedIn(
        _ tokens: TokenAnswer, clientID: String, clientSecret: String? = nil, method: SignInMethod,
        meaning: BackendConnection.Meaning = { _, _ in nil }
    ) async throws -> SignInResult {
        let user = try BackendUser(
            try await connection.get(layout.profile, token: tokens.accessToken, meaning: meaning), layout.user)
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
    var deviceAuthorizationEndpoint: String? {
        layout.device.isEmpty ? nil : connection.endpoint.url(layout.device)
    }
    var revocationEndpoint: String? {
        layout.oauthRevocation.isEmpty ? nil : connection.endpoint.url(layout.oauthRevocation)
    }
    var tokenEndpointAuthMethodsSupported: [String]? { ["client_secret_post"] }
    // A proxy in front of the server may have sent the refusal.
    var refusesDeadGrantsSilently: Bool { false }
    var tokenFields: TokenAnswer.Fields { layout.tokens.fields }
}
