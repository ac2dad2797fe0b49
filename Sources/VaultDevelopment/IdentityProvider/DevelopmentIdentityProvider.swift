/// An OpenID Connect provider on loopback, for tests and experiments.
///
/// It has the functions of real providers: discovery, authorization code with PKCE through an HTML login page, device
/// authorization, ID tokens signed with ES256, rotating refresh tokens with reuse detection, registration of clients,
/// pushed authorization requests, DPoP, revocation, UserInfo and logout. Tests can see its requests (``requests``) and
/// make it misbehave (``setFault(_:times:at:)``). It must never be reachable from another machine, as its passwords are
/// public.
///
/// ```swift
/// try await withDevelopmentIdentityProvider { provider in
///     let page = try await ScriptedBrowser(username: "alice", password: "alice-password").visit(authorizationURL)
///     #expect(await provider.requests.map(\.outcome) == [.ok, .ok])
/// }
/// ```
public final class DevelopmentIdentityProvider: Sendable {
    /// The issuer, for the app's settings: `http://127.0.0.1:PORT`, or ``Options/issuer``.
    public var issuer: String { server.options.issuer ?? http.origin }
    /// The port it listens on.
    public var port: Int { http.port }
    /// The client ID, for the app's settings.
    public var clientID: String { server.options.clientID }

    /// The users who can log in.
    public var users: [User] { server.options.users }

    private let server: AuthorizationServer
    private let http: LoopbackServer

    private init(server: AuthorizationServer, http: LoopbackServer) {
        self.server = server
        self.http = http
    }

    /// Starts a provider, which answers when this returns. Stop it with ``stop()``.
    ///
    /// - Throws: ``VaultDevelopmentError`` with `addressInUse`, `invalidOption` or `stateFileUnusable`. Then nothing is
    ///   left running.
    public static func start(_ options: Options = Options()) async throws -> DevelopmentIdentityProvider {
        try options.validate()
        let server = try await AuthorizationServer(options: options)
        let http = try await LoopbackServer.start(
            host: options.host, port: options.port, label: "development-identity-provider",
            router: ProviderRoutes(server: server).router(),
            willAnswer: { await server.setIssuer(options.issuer ?? $0) })
        return DevelopmentIdentityProvider(server: server, http: http)
    }

    /// Stops it, and closes open connections. The port is free when this returns. Another call does no harm.
    public func stop() async {
        await server.faults.close()
        await http.stop()
    }

    /// Finds the person of the access token in a request to a resource server.
    func username(for request: AuthorizationServer.ResourceRequest) async throws -> String {
        try await server.access(request).user.username
    }

    /// The person of an access token.
    public struct TokenOwner: Sendable, Hashable {
        /// The subject of the person.
        public let subject: String
        /// The time when the person last signed in, in seconds since 1970.
        public let authenticatedAt: Int
    }

    /// Returns the person whom an access token speaks for at a resource server.
    ///
    /// - Parameters:
    ///   - token: The token as a client sent it.
    ///   - proof: The proof of a token that is bound to a key (RFC 9449); nil for a bearer token.
    ///   - url: The URL of the request, whose method is `POST`.
    ///   - audience: The resource server. Of the tokens for one server (RFC 8707), it takes only its own.
    /// - Throws: ``InvalidProof`` if only the proof is wrong.
    /// - Returns: nil for a token that is not valid.
    public func owner(
        ofAccessToken token: String, proof: String? = nil, at url: String, audience: String
    ) async throws -> TokenOwner? {
        let request = AuthorizationServer.ResourceRequest(
            authorization: (proof == nil ? "Bearer " : "DPoP ") + token, proofs: proof.map { [$0] } ?? [],
            method: "POST", url: url, audience: audience)
        do throws(OAuthError) {
            let access = try await server.access(request)
            return TokenOwner(subject: access.user.subject, authenticatedAt: access.authenticatedAt)
        } catch {
            guard error.code == "invalid_dpop_proof" else { return nil }
            throw InvalidProof()
        }
    }

    /// The error for a proof of possession that was not made for the request, or was used before.
    public struct InvalidProof: Error {}

    /// The nonce that resource servers also give to clients; nil if none is needed.
    var announcedNonce: String? {
        get async { await server.announcedNonce }
    }

    // MARK: What it was asked

    /// All answered requests, oldest first.
    public var requests: [ProviderRequest] {
        get async { await server.requests }
    }

    /// Forgets the requests so far.
    public func clearRequests() async { await server.clearLog() }

    // MARK: What a test can make it do

    /// Makes an endpoint misbehave. Each endpoint has its own fault.
    ///
    /// - Parameters:
    ///   - fault: The misbehaviour; nil ends it.
    ///   - times: The number of requests that get it; nil for all until the next call.
    ///   - endpoint: The endpoint that misbehaves.
    public func setFault(
        _ fault: ProviderFault?, times: Int? = nil, at endpoint: ProviderRequest.Endpoint = .token
    ) async {
        await server.faults.set(fault, count: times, at: endpoint.description)
    }

    /// Returns when ``ProviderFault/delay`` or ``ProviderFault/delayAnswer`` holds back `count` requests, or when the
    /// provider is stopped.
    public func waitUntilDelayed(_ count: Int = 1) async { await server.faults.waitUntilHeld(count) }

    /// Lets the held-back requests continue.
    public func releaseDelayed() async { await server.faults.release() }

    /// Makes all refresh and access tokens invalid, like an administrator who ends all sessions.
    /// - Throws: ``VaultDevelopmentError`` with `stateFileUnusable` if the state cannot be stored.
    public func revokeAllRefreshTokens() async throws { try await server.revokeAllRefreshTokens() }

    /// Makes all access tokens invalid. Refresh tokens stay valid.
    /// - Throws: ``VaultDevelopmentError`` with `stateFileUnusable` if the state cannot be stored.
    public func invalidateAccessTokens() async throws { try await server.invalidateAccessTokens() }

    /// Demands a new nonce in DPoP proofs from now on. Every answer names it.
    /// - Parameter keepingOld: Whether proofs with the nonce before it are still accepted.
    public func renewDPoPNonce(keepingOld: Bool = false) async { await server.renewNonce(keepingOld: keepingOld) }

    /// Signs with a new key from now on.
    /// - Parameter keepingOld: Whether the key set still has the old keys, so that older ID tokens verify.
    /// - Throws: ``VaultDevelopmentError`` with `stateFileUnusable` if the key cannot be stored.
    public func rotateSigningKey(keepingOld: Bool = true) async throws {
        try await server.rotateSigningKey(keepingOld: keepingOld)
    }
}

/// Runs `body` with a provider that is always stopped afterwards.
/// - Throws: The error of ``DevelopmentIdentityProvider/start(_:)`` or `body`.
public func withDevelopmentIdentityProvider<Result>(
    _ options: DevelopmentIdentityProvider.Options = .init(),
    isolation: isolated (any Actor)? = #isolation,
    _ body: (DevelopmentIdentityProvider) async throws -> Result
) async throws -> Result {
    let provider = try await DevelopmentIdentityProvider.start(options)
    do {
        let result = try await body(provider)
        await provider.stop()
        return result
    } catch {
        await provider.stop()
        throw error
    }
}
