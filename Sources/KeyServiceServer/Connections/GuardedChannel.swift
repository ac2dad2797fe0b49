internal import HummingbirdCore
internal import Logging
internal import NIOCore
internal import NIOHTTP1
internal import NIOSSL

/// The connections of a listener: TLS if there is a certificate, the limits against slow clients, and HTTP.
struct GuardedChannel: ServerChildChannel {
    /// The time until an idle connection is closed.
    private static let idleTimeout = TimeAmount.seconds(60)

    let responder: HTTPChannelHandler.Responder
    let connections: ConnectionTable
    let deadline: TimeAmount
    let certificate: ServerCertificate?
    /// Called for a request that took too long to arrive.
    let onTimeout: @Sendable () -> Void
    /// Called for a request that the HTTP parser refused, once for each connection.
    let onMalformed: @Sendable () -> Void

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<HTTP1Channel.Value> {
        let connection = connections.admit(channel)
        return channel.eventLoop.makeCompletedFuture {
            let pipeline = channel.pipeline.syncOperations
            try pipeline.addHandler(CuttingHandler(connection))
            if let certificate { try pipeline.addHandler(NIOSSLServerHandler(context: certificate.context)) }
            try pipeline.addHandler(ArrivalHandler(connection))
        }.flatMap {
            http(connection).setup(channel: channel, logger: logger)
        }.flatMapThrowing { value in
            let pipeline = channel.pipeline.syncOperations
            let parser = try pipeline.handler(type: ByteToMessageHandler<HTTPRequestDecoder>.self)
            try pipeline.addHandler(RequestCheck(onRefusal: onMalformed), position: .after(parser))
            return value
        }
    }

    private func http(_ connection: ClientConnection) -> HTTP1Channel {
        HTTP1Channel(
            responder: responder,
            configuration: .init(
                additionalChannelHandlers: [
                    RequestDeadline(
                        limit: deadline, connection: connection, mustLeave: connections.mustLeave, onTimeout: onTimeout)
                ],
                idleTimeout: Self.idleTimeout))
    }

    func handle(value: HTTP1Channel.Value, logger: Logger) async {
        await withTaskExecutorPreference(EventLoopExecutor(value.channel.eventLoop)) {
            await HTTP1Channel(responder: responder).handle(value: value, logger: logger)
        }
    }
}

/// The handler that closes a connection at once if there is no place for it, or another one gets its place. It comes
/// before TLS, whose farewell a client could delay.
private final class CuttingHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let connection: ClientConnection

    init(_ connection: ClientConnection) { self.connection = connection }

    func channelActive(context: ChannelHandlerContext) {
        if connection.isEnding { context.close(promise: nil) } else { context.fireChannelActive() }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is ClientConnection.Cut {
            context.close(promise: nil)
        } else {
            context.fireUserInboundEventTriggered(event)
        }
    }
}

/// The handler that tells ``RequestDeadline`` about new bytes. The HTTP parser comes later: it does not report half a
/// line. Bytes for a connection that ends are dropped, so no request begins.
final class ArrivalHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    struct Arrival {}

    private let connection: ClientConnection

    init(_ connection: ClientConnection) { self.connection = connection }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard connection.bytesArrived() else { return }
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
