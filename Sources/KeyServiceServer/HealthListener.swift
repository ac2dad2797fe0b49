internal import CoreMetrics
internal import Hummingbird
internal import HummingbirdCore
internal import Logging
internal import NIOCore
internal import NIOPosix
internal import ServiceLifecycle

/// The listener for programs that watch the service. It has its own thread and its own connections, so clients cannot
/// keep it from answering.
struct HealthListener: Service {
    private static let maxConnections = 64

    let address: (host: String, port: Int)
    let responder: HealthResponder
    let deadline: TimeAmount
    let logger: Logger
    let onRunning: @Sendable (any Channel) async -> Void

    /// The thread of all listeners for health checks, which clients cannot keep busy. It never ends, because the last
    /// tasks of a connection may still come to it.
    private static let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)

    func run() async throws {
        // Nobody needs the figures of these connections.
        let metrics = KeyServiceMetrics(factory: NOOPMetricsHandler.instance)
        let connections = ConnectionTable(
            limit: Self.maxConnections, perAddress: 0, trusted: TrustedProxies([]), metrics: metrics)
        let application = Application(
            responder: responder,
            server: HTTPServerBuilder { responder in
                GuardedChannel(
                    responder: responder, connections: connections, deadline: deadline, certificate: nil,
                    onTimeout: {}, onMalformed: {})
            },
            configuration: ApplicationConfiguration(
                address: .hostname(address.host, port: address.port),
                availableConnectionsDelegate: MaximumAvailableConnections(connections.acceptLimit, logger: logger)),
            onServerRunning: onRunning, eventLoopGroupProvider: .shared(Self.group), logger: logger)
        do {
            try await withGracefulShutdownHandler {
                try await application.run()
            } onGracefulShutdown: {
                connections.closeAll()
            }
        } catch {
            throw ListenFailure(host: address.host, port: address.port, error)
        }
    }
}

/// The error of the listener for health checks if it could not start.
package struct ListenFailure: Error {
    /// The host name or numeric address, without brackets.
    package let host: String
    /// The TCP port.
    package let port: Int
    /// The error of the system.
    package let underlying: any Error

    init(host: String, port: Int, _ underlying: any Error) {
        self.host = host
        self.port = port
        self.underlying = underlying
    }

    /// Returns the number of the system's error (`errno`), or nil if it is another error.
    package static func errorNumber(of error: any Error) -> CInt? { (error as? IOError)?.errnoCode }
}
