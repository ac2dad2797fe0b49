internal import Hummingbird
internal import Logging
internal import NIOCore
internal import ServiceLifecycle

/// An OpenID Connect provider on loopback, for an app's own tests and for trying things out.
///
/// It speaks what real providers do: discovery, authorization code with PKCE through an HTML login page, ID tokens
/// signed with ES256, refresh tokens that rotate with reuse detection, revocation and UserInfo. Tests can see what it was
/// asked (``requests``) and make it misbehave (``setFault(_:times:)``). It must never be reachable from another machine:
/// its passwords are public.
///
/// ```swift
/// try await withDevelopmentIdentityProvider { provider in
///     let page = try await ScriptedBrowser(username: "alice", password: "alice-password").visit(authorizationURL)
///     #expect(await provider.requests.map(\.outcome) == [.ok, .ok])
/// }
/// ```
public final class DevelopmentIdentityProvider: Sendable {
    /// The issuer, as an app is configured with it: `http://127.0.0.1:PORT`, or ``Options/issuer``.
    public let issuer: String
    /// The port it listens on.
    public let port: Int
    /// The client ID, as an app is configured with it.
    public var clientID: String { server.options.clientID }

    /// Who can log in.
    public var users: [User] { server.options.users }

    private let server: AuthorizationServer
    private let connections: OpenConnections
    private let services: ServiceGroup
    private let running: Task<Void, any Error>

    private init(
        issuer: String, port: Int, server: AuthorizationServer, connections: OpenConnections, services: ServiceGroup,
        running: Task<Void, any Error>
    ) {
        self.issuer = issuer
        self.port = port
        self.server = server
        self.connections = connections
        self.services = services
        self.running = running
    }

    deinit {
        connections.closeAll()
        running.cancel()
    }

    /// Starts a provider; it answers when this returns. Stop it with ``stop()``.
    ///
    /// - Throws: ``VaultTestingError`` with `addressInUse`, `invalidOption` or `stateFileUnusable`; nothing is left
    ///   running then.
    public static func start(_ options: Options = Options()) async throws -> DevelopmentIdentityProvider {
        try options.validate()
        let server = try await AuthorizationServer(options: options)
        let connections = OpenConnections()
        let (ports, started) = AsyncThrowingStream.makeStream(of: Int.self)
        let logger = Logger(label: "development-identity-provider") { _ in SwiftLogNoOpLogHandler() }
        let host = options.host.contains(":") ? "[\(options.host)]" : options.host
        let application = Application(
            router: ProviderRoutes(server: server).router(),
            server: .http1(configuration: .init(additionalChannelHandlers: [connections.tracker()])),
            configuration: .init(address: .hostname(options.host, port: options.port)),
            onServerRunning: { channel in
                let port = channel.localAddress?.port ?? options.port
                await server.setIssuer(options.issuer ?? "http://\(host):\(port)")
                started.yield(port)
            },
            logger: logger)
        let services = ServiceGroup(configuration: .init(services: [application], logger: logger))
        let running = Task {
            do {
                try await services.run()
                started.finish()
            } catch {
                started.finish(throwing: error)
                throw error
            }
        }
        do {
            for try await port in ports {
                return await DevelopmentIdentityProvider(
                    issuer: server.issuer, port: port, server: server, connections: connections, services: services,
                    running: running)
            }
            throw CancellationError()
        } catch {
            connections.closeAll()
            running.cancel()
            _ = await running.result
            if error is CancellationError { throw error }
            throw VaultTestingError(
                .addressInUse, "Cannot listen on \(host):\(options.port): something else does, or it is not allowed.",
                underlying: error)
        }
    }

    /// Stops it: open connections are closed, and the port is free when this returns. Stopping twice is fine.
    public func stop() async {
        await server.faults.close()
        await services.triggerGracefulShutdown()
        connections.closeAll()
        _ = await running.result
    }

    // MARK: What it was asked

    /// All requests it has answered, oldest first.
    public var requests: [ProviderRequest] {
        get async { await server.requests }
    }

    /// Forgets the requests so far.
    public func clearRequests() async { await server.clearLog() }

    // MARK: What a test can make it do

    /// Makes the token endpoint misbehave.
    /// - Parameters:
    ///   - fault: The misbehaviour; nil ends it.
    ///   - times: How many requests get it; nil for all until it is set again.
    public func setFault(_ fault: ProviderFault?, times: Int? = nil) async {
        await server.faults.set(fault, count: times)
    }

    /// Returns when `count` requests are held back by ``ProviderFault/delay`` or ``ProviderFault/delayAnswer``, or
    /// when the provider is stopped.
    public func waitUntilDelayed(_ count: Int = 1) async { await server.faults.waitUntilHeld(count) }

    /// Lets the requests go on that are held back now.
    public func releaseDelayed() async { await server.faults.release() }

    /// Makes all refresh tokens invalid, as when an administrator ends all sessions, and the access tokens too.
    /// - Throws: ``VaultTestingError`` with `stateFileUnusable` if that cannot be stored.
    public func revokeAllRefreshTokens() async throws { try await server.revokeAllRefreshTokens() }

    /// Signs with a new key from now on.
    /// - Parameter keepingOld: Whether the key set still has the old keys, so that older ID tokens verify.
    /// - Throws: ``VaultTestingError`` with `stateFileUnusable` if the key cannot be stored.
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
