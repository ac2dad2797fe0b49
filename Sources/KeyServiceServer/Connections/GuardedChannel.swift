internal import HummingbirdCore
internal import KeyServiceCore
internal import Logging
internal import NIOCore
internal import NIOSSL

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
