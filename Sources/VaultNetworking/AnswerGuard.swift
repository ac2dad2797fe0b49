internal import NIOCore
internal import NIOHTTP1

/// A guard against answers that crash async-http-client 1.37.
///
/// That client's state machine ends the process if the parts of an answer come in an unexpected order, as after a
/// status of 000 to 099. This handler passes one head with a status of 200 to 999, then the body, then the end.
/// Anything else closes the connection with an error.
final class AnswerGuard: ChannelDuplexHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias InboundOut = HTTPClientResponsePart
    typealias OutboundIn = HTTPClientRequestPart
    typealias OutboundOut = HTTPClientRequestPart

    /// The error for an answer that is not HTTP, or does not fit the request.
    struct Refusal: Error {}

    private enum State {
        case idle
        /// A request was sent. `informational` counts the heads with 1xx so far.
        case waiting(informational: Int)
        case body
        case refused
    }

    /// The most informational heads. No normal server sends so many before its answer.
    private static let mostInformational = 16

    private var state = State.idle

    /// Installs the handler between the parser of a connection and the client's own handler.
    static func install(in channel: any Channel) -> EventLoopFuture<Void> {
        // The client calls this on the connection's own thread, so nothing is read in between.
        channel.eventLoop.makeCompletedFuture {
            let pipeline = channel.pipeline.syncOperations
            do {
                let parser = try pipeline.handler(type: ByteToMessageHandler<HTTPResponseDecoder>.self)
                try pipeline.addHandler(AnswerGuard(), position: .after(parser))
            } catch {
                // Without the handler, the connection must not be used.
                channel.close(promise: nil)
                throw error
            }
        }
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        if case .head = unwrapOutboundIn(data), case .idle = state { state = .waiting(informational: 0) }
        context.write(data, promise: promise)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch (state, unwrapInboundIn(data)) {
        case (.waiting(let count), .head(let head)) where (100...199).contains(head.status.code):
            // Informational heads are dropped, as nothing waits for them. A 101 is refused: no request asked for
            // another protocol.
            guard count < Self.mostInformational, head.status != .switchingProtocols else { return refuse(context) }
            state = .waiting(informational: count + 1)
        case (.waiting, .head(let head)) where (200...999).contains(head.status.code):
            state = .body
            context.fireChannelRead(data)
        case (.body, .body):
            context.fireChannelRead(data)
        case (.body, .end):
            state = .idle
            context.fireChannelRead(data)
        case (.refused, _):
            break
        default:
            refuse(context)
        }
    }

    private func refuse(_ context: ChannelHandlerContext) {
        state = .refused
        context.fireErrorCaught(Refusal())
        context.close(promise: nil)
    }
}
