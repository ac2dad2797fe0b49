internal import Hummingbird
internal import Logging
internal import NIOCore
internal import ServiceLifecycle

/// A request's context that also knows its connection.
struct LoopbackRequestContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    let channel: any Channel

    init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
        channel = source.channel
    }
}

/// An HTTP server for this machine alone. It can stop at once.
final class LoopbackServer: Sendable {
    /// The origin, `http://HOST:PORT`.
    let origin: String
    let port: Int

    private let connections: OpenConnections
    private let services: ServiceGroup
    private let running: Task<Void, any Error>

    private init(
        origin: String, port: Int, connections: OpenConnections, services: ServiceGroup,
        running: Task<Void, any Error>
    ) {
        self.origin = origin
        self.port = port
        self.connections = connections
        self.services = services
        self.running = running
    }

    deinit {
        connections.closeAll()
        running.cancel()
    }

    /// Starts a server, which answers when this returns.
    /// - Parameters:
    ///   - host: A host that ``checkAddress(host:port:)`` allows.
    ///   - port: 0 picks a free one.
    ///   - willAnswer: Gets the origin before the first answer.
    /// - Throws: ``VaultDevelopmentError`` with `addressInUse`. Then nothing is left running.
    static func start(
        host: String, port: Int, label: String, router: Router<LoopbackRequestContext>,
        willAnswer: @escaping @Sendable (_ origin: String) async -> Void
    ) async throws -> LoopbackServer {
        let connections = OpenConnections()
        let (ports, started) = AsyncThrowingStream.makeStream(of: Int.self)
        let logger = Logger(label: label) { _ in SwiftLogNoOpLogHandler() }
        let authority = host.contains(":") ? "[\(host)]" : host
        let application = Application(
            router: router,
            server: .http1(configuration: .init(additionalChannelHandlers: [connections.tracker()])),
            configuration: .init(address: .hostname(host, port: port)),
            onServerRunning: { channel in
                let port = channel.localAddress?.port ?? port
                await willAnswer("http://\(authority):\(port)")
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
                return LoopbackServer(
                    origin: "http://\(authority):\(port)", port: port, connections: connections, services: services,
                    running: running)
            }
            throw CancellationError()
        } catch {
            connections.closeAll()
            running.cancel()
            _ = await running.result
            if error is CancellationError { throw error }
            throw VaultDevelopmentError(
                .addressInUse, "Cannot listen on \(authority):\(port). Choose another port, or port 0.",
                underlying: error)
        }
    }

    /// Stops it, and closes open connections. The port is free when this returns. Another call does no harm.
    func stop() async {
        await services.triggerGracefulShutdown()
        connections.closeAll()
        _ = await running.result
    }

    /// - Throws: ``VaultDevelopmentError`` with `invalidOption` for an address that other machines could reach.
    static func checkAddress(host: String, port: Int) throws {
        guard ["127.0.0.1", "::1", "localhost"].contains(host) else {
            throw VaultDevelopmentError(
                .invalidOption, "A development server listens on loopback only, not on \(host).")
        }
        guard (0...65535).contains(port) else {
            throw VaultDevelopmentError(.invalidOption, "\(port) is not a port.")
        }
    }
}
