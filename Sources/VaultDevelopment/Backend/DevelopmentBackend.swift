/// An app's own backend on loopback, for tests and experiments.
///
/// One server plays three kinds of backend, each on its own paths (``Paths``):
/// - one in front of an identity provider, with its own PKCE: the browser logs in at `GET /auth/login`, the app redeems
///   the code at `POST /auth/token`;
/// - one with its own user names and passwords: `POST /auth/login`, and `POST /auth/refresh`, which rotates. A second use
///   of a refresh token ends all such sessions of the person. `POST /auth/logout` wants the access token and the newest
///   refresh token. People sign up at `POST /auth/sign-up`, and see their sessions at `GET /auth/sessions`;
/// - one that announces its abilities at `GET /api/info`: OAuth with registration, or an API token for user name and
///   password. It refuses what Readeck refuses, unless ``Options/isLenient`` is set. At `GET /profile/tokens` a person
///   makes an API token.
///
/// It also has resources that need a token of any of these: `GET` and `POST /api/items`, and `POST /graphql`. Tests can
/// see its requests (``requests``) and make it misbehave (``setFault(_:times:at:)``). Its state is in memory only. It
/// must never be reachable from another machine, as its passwords are public.
///
/// ```swift
/// try await withDevelopmentBackend { backend in
///     await backend.invalidateAccessTokens()
///     // … the app meets 401, refreshes once and goes on …
///     #expect(await backend.requests.count { $0.endpoint == .refresh } == 1)
/// }
/// ```
public final class DevelopmentBackend: Sendable {
    /// Its address, for the app's settings: `http://127.0.0.1:PORT`.
    public var url: String { http.origin }
    /// The port it listens on.
    public var port: Int { http.port }
    /// The users who can log in.
    public var users: [DevelopmentIdentityProvider.User] { server.options.users }
    /// The paths of the backend.
    public var paths: Paths { server.options.paths }

    private let server: BackendServer
    private let http: LoopbackServer

    private init(server: BackendServer, http: LoopbackServer) {
        self.server = server
        self.http = http
    }

    /// Starts a backend, which answers when this returns. Stop it with ``stop()``.
    ///
    /// - Throws: ``VaultDevelopmentError`` with `addressInUse` or `invalidOption`. Then nothing is left running.
    public static func start(_ options: Options = Options()) async throws -> DevelopmentBackend {
        try options.validate()
        let server = BackendServer(options: options)
        let http = try await LoopbackServer.start(
            host: options.host, port: options.port, label: "development-backend",
            router: BackendRoutes(server: server).router(), willAnswer: { await server.setOrigin($0) })
        return DevelopmentBackend(server: server, http: http)
    }

    /// Stops it, and closes open connections. The port is free when this returns. Another call does no harm.
    public func stop() async {
        await server.faults.close()
        await http.stop()
    }

    // MARK: What it was asked

    /// All answered requests, oldest first.
    public var requests: [BackendRequest] {
        get async { await server.requests }
    }

    /// Forgets the requests so far.
    public func clearRequests() async { await server.clearLog() }

    // MARK: What a test can make it do

    /// Makes an endpoint misbehave. Each endpoint has its own fault. Faults that change tokens do nothing here.
    ///
    /// - Parameters:
    ///   - fault: The misbehaviour; nil ends it.
    ///   - times: The number of requests that get it; nil for all until the next call.
    ///   - endpoint: The endpoint that misbehaves.
    public func setFault(_ fault: ProviderFault?, times: Int? = nil, at endpoint: BackendRequest.Endpoint) async {
        await server.faults.set(fault, count: times, at: endpoint.description)
    }

    /// Returns when ``ProviderFault/delay`` or ``ProviderFault/delayAnswer`` holds back `count` requests, or when the
    /// backend is stopped.
    public func waitUntilDelayed(_ count: Int = 1) async { await server.faults.waitUntilHeld(count) }

    /// Lets the held-back requests continue.
    public func releaseDelayed() async { await server.faults.release() }

    /// Makes all access tokens invalid. Refresh tokens and API tokens stay valid.
    public func invalidateAccessTokens() async { await server.invalidateAccessTokens() }

    /// Makes all tokens invalid, like an administrator who ends all sessions.
    public func endAllSessions() async { await server.endAllSessions() }

    /// Forgets the registered OAuth clients.
    public func forgetClients() async { await server.forgetClients() }

    /// Changes the features in `GET /api/info`, like an upgrade of the server. Without `oauth`, OAuth is off.
    /// - Parameter features: The features; nil leaves the member out, like older servers.
    public func setFeatures(_ features: [String]?) async { await server.setFeatures(features) }
}

/// Runs `body` with a backend that is always stopped afterwards.
/// - Throws: The error of ``DevelopmentBackend/start(_:)`` or `body`.
public func withDevelopmentBackend<Result>(
    _ options: DevelopmentBackend.Options = .init(),
    isolation: isolated (any Actor)? = #isolation,
    _ body: (DevelopmentBackend) async throws -> Result
) async throws -> Result {
    let backend = try await DevelopmentBackend.start(options)
    do {
        let result = try await body(backend)
        await backend.stop()
        return result
    } catch {
        await backend.stop()
        throw error
    }
}
