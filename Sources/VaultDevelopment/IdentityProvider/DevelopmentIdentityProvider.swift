/// An OpenID Connect provider on loopback, for an app's own tests and for trying things out.
///
/// It speaks what real providers do: discovery, authorization code with PKCE through an HTML login page, device
/// authorization, ID tokens signed with ES256, refresh tokens that rotate with reuse detection, registration of clients,
/// pushed authorization requests, DPoP, revocation, UserInfo and logout. Tests can see what it was asked (``requests``) and make it misbehave
/// (``setFault(_:times:at:)``). It must never be reachable from another machine: its passwords are public.
///
/// ```swift
/// try await withDevelopmentIdentityProvider { provider in
///     let page = try await ScriptedBrowser(username: "alice", password: "alice-password").visit(authorizationURL)
///     #expect(await provider.requests.map(\.outcome) == [.ok, .ok])
/// }
/// ```
public final class DevelopmentIdentityProvider: Sendable {
    /// The issuer, as an app is configured with it: `http://127.0.0.1:PORT`, or ``Options/issuer``.
    public var issuer: String { server.options.issuer ?? http.origin }
    /// The port it listens on.
    public var port: Int { http.port }
    /// The client ID, as an app is configured with it.
    public var clientID: String { server.options.clientID }

    /// Who can log in.
    public var users: [User] { server.options.users }

    private let server: AuthorizationServer
    private let http: LoopbackServer

    private init(server: AuthorizationServer, http: LoopbackServer) {
        self.server = server
        self.http = http
    }

    /// Starts a provider; it answers when this returns. Stop it with ``stop()``.
    ///
    /// - Throws: ``VaultDevelopmentError`` with `addressInUse`, `invalidOption` or `stateFileUnusable`; nothing is left
    ///   running then.
    public static func start(_ options: Options = Options()) async throws -> DevelopmentIdentityProvider {
        try options.validate()
        let server = try await AuthorizationServer(options: options)
        let http = try await LoopbackServer.start(
            host: options.host, port: options.port, label: "development-identity-provider",
            router: ProviderRoutes(server: server).router(),
            willAnswer: { await server.setIssuer(options.issuer ?? $0) })
        return DevelopmentIdentityProvider(server: server, http: http)
    }

    /// Stops it: open connections are closed, and the port is free when this returns. Stopping twice is fine.
    public func stop() async {
        await server.faults.close()
        await http.stop()
    }

    /// Whose access token a request to a resource server has.
    func username(for request: AuthorizationServer.ResourceRequest) async throws -> String {
        try await server.access(request).user.username
    }

    /// The nonce that a resource server tells its clients, too; nil when none is demanded.
    var announcedNonce: String? {
        get async { await server.announcedNonce }
    }

    // MARK: What it was asked

    /// All requests it has answered, oldest first.
    public var requests: [ProviderRequest] {
        get async { await server.requests }
    }

    /// Forgets the requests so far.
    public func clearRequests() async { await server.clearLog() }

    // MARK: What a test can make it do

    /// Makes an endpoint misbehave. Each endpoint has a fault of its own.
    ///
    /// - Parameters:
    ///   - fault: The misbehaviour; nil ends it.
    ///   - times: How many requests get it; nil for all until it is set again.
    ///   - endpoint: The endpoint that misbehaves.
    public func setFault(
        _ fault: ProviderFault?, times: Int? = nil, at endpoint: ProviderRequest.Endpoint = .token
    ) async {
        await server.faults.set(fault, count: times, at: endpoint.description)
    }

    /// Returns when `count` requests are held back by ``ProviderFault/delay`` or ``ProviderFault/delayAnswer``, or
    /// when the provider is stopped.
    public func waitUntilDelayed(_ count: Int = 1) async { await server.faults.waitUntilHeld(count) }

    /// Lets the requests go on that are held back now.
    public func releaseDelayed() async { await server.faults.release() }

    /// Makes all refresh tokens invalid, as when an administrator ends all sessions, and the access tokens too.
    /// - Throws: ``VaultDevelopmentError`` with `stateFileUnusable` if that cannot be stored.
    public func revokeAllRefreshTokens() async throws { try await server.revokeAllRefreshTokens() }

    /// Makes all access tokens invalid now; refresh tokens stay.
    /// - Throws: ``VaultDevelopmentError`` with `stateFileUnusable` if that cannot be stored.
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

/// Runs `body` with a provider that is stopped afterwards, whatever happens.
/// - Throws: What ``DevelopmentIdentityProvider/start(_:)`` or `body` throws.
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
