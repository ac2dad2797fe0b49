internal import HummingbirdCore
internal import Logging
internal import NIOCore
internal import NIOSSL
internal import VaultBase

/// The connections of a listener: TLS if there is a certificate, the limits against slow clients, and HTTP.
struct GuardedChannel: ServerChildChannel {
    /// The time until an idle connection is closed.
    private static let idleTimeout = TimeAmount.seconds(60)

    let http: HTTP1Channel
    let connections: ConnectionTable
    let certificate: ServerCertificate?

    init(
        responder: @escaping HTTPChannelHandler.Responder, connections: ConnectionTable, deadline: TimeAmount,
        certificate: ServerCertificate?, metrics: KeyServiceMetrics
    ) {
        http = HTTP1Channel(
            responder: responder,
            configuration: .init(
                additionalChannelHandlers: [
                    RequestDeadline(limit: deadline) { metrics.requestTimedOut() }
                ],
                idleTimeout: Self.idleTimeout))
        self.connections = connections
        self.certificate = certificate
    }

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<HTTP1Channel.Value> {
        channel.eventLoop.makeCompletedFuture {
            let pipeline = channel.pipeline.syncOperations
            if !connections.admit(channel) { try pipeline.addHandler(RefusingHandler()) }
            if let certificate { try pipeline.addHandler(NIOSSLServerHandler(context: certificate.context)) }
            try pipeline.addHandler(ArrivalHandler())
        }.flatMap {
            http.setup(channel: channel, logger: logger)
        }
    }

    func handle(value: HTTP1Channel.Value, logger: Logger) async {
        await withTaskExecutorPreference(EventLoopExecutor(value.channel.eventLoop)) {
            await http.handle(value: value, logger: logger)
        }
    }
}

/// The open connections of a listener, with their number for each client address.
final class ConnectionTable: Sendable {
    private struct State {
        var channels: [ObjectIdentifier: any Channel] = [:]
        var counts: [NetworkAddress: Int] = [:]
    }

    private let perAddress: Int
    private let trusted: TrustedProxies
    private let metrics: KeyServiceMetrics
    private let state = Lock(State())

    /// - Parameters:
    ///   - perAddress: the most connections of one address; 0 for no limit.
    ///   - trusted: addresses without this limit.
    init(perAddress: Int, trusted: TrustedProxies, metrics: KeyServiceMetrics) {
        self.perAddress = perAddress
        self.trusted = trusted
        self.metrics = metrics
    }

    /// Adds a connection until it closes.
    ///
    /// - Returns: false if its address has too many connections. Then it was not added.
    func admit(_ channel: any Channel) -> Bool {
        let peer = NetworkAddress(channel.remoteAddress)
        let counted = trusted.contains(peer) ? nil : peer?.counted
        let id = ObjectIdentifier(channel)
        let isAdmitted = state.withLock { state in
            if perAddress > 0, let counted {
                guard state.counts[counted, default: 0] < perAddress else { return false }
                state.counts[counted, default: 0] += 1
            }
            state.channels[id] = channel
            return true
        }
        guard isAdmitted else {
            metrics.connectionRefused()
            return false
        }
        metrics.connectionOpened()
        channel.closeFuture.whenComplete { [self] _ in
            state.withLock { state in
                state.channels[id] = nil
                guard perAddress > 0, let counted, let count = state.counts[counted] else { return }
                state.counts[counted] = count > 1 ? count - 1 : nil
            }
            metrics.connectionClosed()
        }
        return true
    }

    /// Closes all connections, with their requests.
    func closeAll() {
        for channel in state.withLock({ Array($0.channels.values) }) { channel.close(promise: nil) }
    }
}

/// The handler that closes a connection at once. Only connections over the limit of their address have it.
private final class RefusingHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    func channelActive(context: ChannelHandlerContext) {
        context.close(promise: nil)
    }
}

/// The handler that tells ``RequestDeadline`` about new bytes. The HTTP parser comes later: it does not report half a
/// line.
final class ArrivalHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    struct Arrival {}

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        context.fireUserInboundEventTriggered(Arrival())
        context.fireChannelRead(data)
    }
}

/// Runs tasks on the thread of an event loop.
///
/// The requests of a connection run on the thread that reads and writes for it. On Swift's own threads, each request
/// would wait for another thread several times. So a request must not block: the store, Argon2 and the audit log have
/// threads of their own.
private final class EventLoopExecutor: TaskExecutor {
    private let eventLoop: any EventLoop

    init(_ eventLoop: any EventLoop) {
        self.eventLoop = eventLoop
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        eventLoop.execute { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
