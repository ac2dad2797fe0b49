internal import FoundationEssentials
internal import HTTPTypes
public import VaultHTTP

/// One OpenID provider as seen by one public client: sign in, refresh, revoke.
///
/// It keeps the discovery document and the provider's keys, so keep one per issuer and client. It may be used from any
/// number of tasks; concurrent callers share one discovery request. Every method throws ``OpenIDConnectError`` only.
public final class OpenIDProvider: Sendable {
    /// The configured issuer identifier.
    public let issuer: String
    /// The client identifier at this provider.
    public let clientID: String

    private let connection: ProviderConnection
    private let endpoint: TokenEndpoint
    private let discovery: Discovery
    private let keys: KeySource
    private let verifier: IDTokenVerifier

    /// Describes a provider. Nothing is fetched yet.
    ///
    /// - Parameters:
    ///   - issuer: the issuer identifier, exactly as the provider writes it.
    ///   - clientID: the identifier of a public client, registered at the provider.
    public init(
        issuer: String, clientID: String, transport: any HTTPTransport, clock: any WallClock = SystemWallClock()
    ) {
        let connection = ProviderConnection(transport: transport)
        let discovery = Discovery(issuer: issuer, clientID: clientID, connection: connection)
        let keys = KeySource(clock: clock) {
            let json = try await connection.getJSON(try await discovery.metadata().jwksURI, named: "the key set")
            guard let keys = json["keys"]?.array else {
                throw OpenIDConnectError(.invalidAnswer, "the key set has no keys")
            }
            return keys.compactMap(SignatureKey.init)
        }
        self.issuer = issuer
        self.clientID = clientID
        self.connection = connection
        self.discovery = discovery
        self.keys = keys
        endpoint = TokenEndpoint(connection: connection, clientID: clientID, clock: clock)
        verifier = IDTokenVerifier(issuer: issuer, clientID: clientID, clock: clock, keys: keys)
    }

    /// The provider's discovery document, fetched at the first call (OpenID Connect Discovery 1.0 section 4).
    ///
    /// - Throws: ``OpenIDConnectError``: `unavailable`, `invalidAnswer`, `configurationInvalid` or `cancelled`. A
    ///   failure is not kept: the next call tries again.
    public func metadata() async throws -> ProviderMetadata {
        try await discovery.metadata()
    }

    /// Fetches what a later call needs, ignoring failures: call it while something else takes its time.
    public func warmUp() async {
        _ = try? await keys.keys()
    }

    /// Starts a sign-in with fresh state, nonce and PKCE verifier.
    ///
    /// - Parameters:
    ///   - redirectURI: where the browser is sent back to, exactly as registered at the provider.
    ///   - scopes: `openid` must be among them.
    ///   - prompt: `consent`, `login` or another value of OpenID Connect Core section 3.1.2.1; nil to leave it out.
    /// - Throws: ``OpenIDConnectError``: those of ``metadata()``, and `unsupported` when the provider announces PKCE
    ///   methods without S256.
    public func authorizationRequest(
        redirectURI: String, scopes: [String], prompt: String? = nil
    ) async throws -> AuthorizationRequest {
        guard Self.isUsable(redirectURI: redirectURI) else {
            throw OpenIDConnectError(.configurationInvalid, "the redirect URI is not usable")
        }
        guard scopes.contains("openid") else {
            throw OpenIDConnectError(.configurationInvalid, "the scope openid is missing")
        }
        let metadata = try await metadata()
        if let methods = metadata.codeChallengeMethodsSupported, !methods.contains("S256") {
            throw OpenIDConnectError(.unsupported, "PKCE with S256")
        }
        return AuthorizationRequest(
            metadata: metadata, clientID: clientID, redirectURI: redirectURI, scopes: scopes, prompt: prompt)
    }

    /// Ends a sign-in: checks the redirect, exchanges the code, verifies the ID token.
    ///
    /// - Parameter callback: the redirect URL, or its path and query, as received.
    /// - Returns: tokens with a verified ID token.
    /// - Throws: ``OpenIDConnectError`` with any code. A code can be used once only: after an error start over.
    public func redeem(_ request: AuthorizationRequest, callback: String) async throws -> TokenSet {
        let metadata = try await metadata()
        let code = try AuthorizationResponse.code(in: callback, for: request, metadata: metadata)
        var (tokens, idToken, status) = try await endpoint.exchange(
            .authorizationCode(code, redirectURI: request.redirectURI, verifier: request.verifier),
            at: metadata.tokenEndpoint)
        try TokenEndpoint.requireBearer(tokens, status: status)
        guard let idToken else {
            throw OpenIDConnectError(.invalidAnswer, "the token answer has no ID token", mayHaveBeenProcessed: true)
        }
        do {
            tokens.idToken = try await verifier.verify(
                idToken, accessToken: tokens.accessToken, expecting: .signIn(nonce: request.nonce))
        } catch {
            throw Self.afterProcessing(error)
        }
        return tokens
    }

    /// Gets a new access token (RFC 6749 section 6, OpenID Connect Core section 12).
    ///
    /// Never call it twice at the same time with one token: a provider that rotates takes that for theft.
    ///
    /// An ID token that came along is verified. When only the provider's keys cannot be had for that, it is left out
    /// instead, as failing would lose the new refresh token.
    ///
    /// - Parameters:
    ///   - subject: who must still be meant: the subject of the sign-in's ID token.
    ///   - keep: makes the answer's refresh token (nil: the old one stays) and scope durable. It is called as soon as
    ///     there is an answer, before anything that may fail or take time. What it throws ends the call.
    /// - Returns: tokens; `refreshToken` is nil when the old one stays valid.
    /// - Throws: ``OpenIDConnectError``: `invalidGrant` when the token is dead, `unavailable` to try later (look at
    ///   `mayHaveBeenProcessed` first), `refused`, `invalidAnswer`, `tokenInvalid`, `unsupported`, `cancelled`.
    public func refresh(
        _ refreshToken: String, subject: String,
        keep: (_ refreshToken: String?, _ scope: String?) async throws -> Void = { _, _ in }
    ) async throws -> TokenSet {
        let metadata = try await metadata()
        var (tokens, idToken, status) = try await endpoint.exchange(
            .refreshToken(refreshToken), at: metadata.tokenEndpoint)
        // Somebody else's refresh token must not take this one's place, whatever the signature is worth.
        if let idToken, let claimed = SignedToken.unverifiedSubject(of: idToken), claimed != subject {
            throw OpenIDConnectError(
                .tokenInvalid, "the new ID token is about another person", mayHaveBeenProcessed: true)
        }
        try await keep(tokens.refreshToken, tokens.scope)
        try TokenEndpoint.requireBearer(tokens, status: status)
        guard let idToken else { return tokens }
        do {
            tokens.idToken = try await verifier.verify(
                idToken, accessToken: tokens.accessToken, expecting: .refresh(subject: subject))
        } catch let error as OpenIDConnectError where error.code == .tokenInvalid {
            throw Self.afterProcessing(error)
        } catch {
            // No keys, no ID token: see above.
        }
        return tokens
    }

    /// Revokes a token (RFC 7009).
    ///
    /// - Parameter hint: `refresh_token` or `access_token`.
    /// - Throws: ``OpenIDConnectError``: `unsupported` when the provider has no revocation endpoint or not for this kind
    ///   of token, `refused` with the status, or `unavailable`.
    public func revoke(_ token: String, hint: String) async throws {
        guard let url = try await metadata().revocationEndpoint else {
            throw OpenIDConnectError(.unsupported, "revoking tokens")
        }
        let answer = try await connection.post(
            url, form: [("token", token), ("token_type_hint", hint), ("client_id", clientID)])
        let status = answer.status.code
        if (200..<300).contains(status) { return }
        if let outage = ProviderConnection.outage(status) { throw outage }
        let json = JSONValue(objectIn: answer.body)
        let error = json?["error"]?.string
        throw OpenIDConnectError(
            error == "unsupported_token_type" ? .unsupported : .refused, "HTTP \(status)", status: status,
            providerError: error, providerDescription: json?["error_description"]?.string)
    }

    private static func isUsable(redirectURI: String) -> Bool {
        guard redirectURI.utf8.allSatisfy({ (0x21...0x7E).contains($0) }), let url = URL(string: redirectURI),
            let scheme = url.scheme?.lowercased(), url.fragment == nil
        else { return false }
        // Other schemes are an app's own (RFC 8252 section 7.1).
        return scheme != "http" && scheme != "https" || EndpointURL.isAllowed(redirectURI)
    }

    /// The same error, saying that the provider has already acted.
    private static func afterProcessing(_ error: any Error) -> OpenIDConnectError {
        guard let error = error as? OpenIDConnectError else {
            return OpenIDConnectError(.cancelled, "", mayHaveBeenProcessed: true, underlying: error)
        }
        return error.processed(true)
    }
}
