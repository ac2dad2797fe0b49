internal import FoundationEssentials

/// An app's own backend on loopback, for an app's tests and for trying things out.
///
/// One server plays three kinds of backend, each on its own paths (``Paths``):
/// - one in front of an identity provider, which keeps PKCE to itself: the browser logs in at `GET /auth/login`, the app
///   redeems the code at `POST /auth/token`;
/// - one with user name and password of its own: `POST /auth/login`, and `POST /auth/refresh`, which rotates; people sign
///   up at `POST /auth/sign-up`, and see their sessions at `GET /auth/sessions`;
/// - one that says what it can at `GET /api/info`: OAuth with registration, or an API token for user name and password.
///
/// It also has resources that want a token of any of these: `GET` and `POST /api/items`, and `POST /graphql`. Tests can
/// see what it was asked (``requests``) and make it misbehave (``setFault(_:times:at:)``). What it knows lives in memory
/// only. It must never be reachable from another machine: its passwords are public.
///
/// ```swift
/// try await withDevelopmentBackend { backend in
///     await backend.invalidateAccessTokens()
///     // … the app meets 401, refreshes once and goes on …
///     #expect(await backend.requests.count { $0.endpoint == .refresh } == 1)
/// }
/// ```
public final class DevelopmentBackend: Sendable {
    /// Where it is, as an app is configured with it: `http://127.0.0.1:PORT`.
    public var url: String { http.origin }
    /// The port it listens on.
    public var port: Int { http.port }
    /// Who can log in.
    public var users: [DevelopmentIdentityProvider.User] { server.options.users }
    /// Where things are.
    public var paths: Paths { server.options.paths }

    private let server: BackendServer
    private let http: LoopbackServer

    private init(server: BackendServer, http: LoopbackServer) {
        self.server = server
        self.http = http
    }

    /// Starts a backend; it answers when this returns. Stop it with ``stop()``.
    ///
    /// - Throws: ``VaultDevelopmentError`` with `addressInUse` or `invalidOption`; nothing is left running then.
    public static func start(_ options: Options = Options()) async throws -> DevelopmentBackend {
        try options.validate()
        let server = BackendServer(options: options)
        let http = try await LoopbackServer.start(
            host: options.host, port: options.port, label: "development-backend",
            router: BackendRoutes(server: server).router(), willAnswer: { await server.setOrigin($0) })
        return DevelopmentBackend(server: server, http: http)
    }

    /// Stops it: open connections are closed, and the port is free when this returns. Stopping twice is fine.
    public func stop() async {
        await server.faults.close()
        await http.stop()
    }

    // MARK: What it was asked

    /// All requests it has answered, oldest first.
    public var requests: [BackendRequest] {
        get async { await server.requests }
    }

    /// Forgets the requests so far.
    public func clearRequests() async { await server.clearLog() }

    // MARK: What a test can make it do

    /// Makes an endpoint misbehave. Each endpoint has a fault of its own; those that change tokens do nothing here.
    ///
    /// - Parameters:
    ///   - fault: The misbehaviour; nil ends it.
    ///   - times: How many requests get it; nil for all until it is set again.
    ///   - endpoint: The endpoint that misbehaves.
    public func setFault(_ fault: ProviderFault?, times: Int? = nil, at endpoint: BackendRequest.Endpoint) async {
        await server.faults.set(fault, count: times, at: endpoint.description)
    }

    /// Returns when `count` requests are held back by ``ProviderFault/delay`` or ``ProviderFault/delayAnswer``, or
    /// when the backend is stopped.
    public func waitUntilDelayed(_ count: Int = 1) async { await server.faults.waitUntilHeld(count) }

    /// Lets the requests go on that are held back now.
    public func releaseDelayed() async { await server.faults.release() }

    /// Makes all access tokens invalid now; refresh tokens and API tokens stay.
    public func invalidateAccessTokens() async { await server.invalidateAccessTokens() }

    /// Makes all tokens invalid, as when an administrator ends all sessions.
    public func endAllSessions() async { await server.endAllSessions() }

    /// Forgets the OAuth clients that have registered.
    public func forgetClients() async { await server.forgetClients() }

    /// Changes what `GET /api/info` says, as an upgrade of the server does. Without `oauth` in it there is none.
    /// - Parameter features: nil leaves the member out, as older servers do.
    public func setFeatures(_ features: [String]?) async { await server.setFeatures(features) }
}

/// Runs `body` with a backend that is stopped afterwards, whatever happens.
/// - Throws: What ``DevelopmentBackend/start(_:)`` or `body` throws.
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
