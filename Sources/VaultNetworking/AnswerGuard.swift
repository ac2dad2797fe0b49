internal import NIOCore
internal import NIOHTTP1

/// Refuses what async-http-client 1.37 has no answer to, before that client sees it.
///
/// Its state machine ends the process when the parts of an answer come in another order than it expects, as they do
/// after a head with a status of 000 to 099. This handler lets through one head with a status of 200 to 999, then the
/// body, then the end. All else ends the connection with an error.
final class AnswerGuard: ChannelDuplexHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias InboundOut = HTTPClientResponsePart
    typealias OutboundIn = HTTPClientRequestPart
    typealias OutboundOut = HTTPClientRequestPart

    /// The server's answer is none in HTTP, or none to the request.
    struct Refusal: Error {}

    private enum State {
        case idle
        /// A request is on its way; so many informational heads (1xx) came.
        case waiting(informational: Int)
        case body
        case refused
    }

    /// More informational heads than a server that means well sends before its answer.
    private static let mostInformational = 16

    private var state = State.idle

    /// Puts the handler between the parser of a connection and the client's own handler.
    static func install(in channel: any Channel) -> EventLoopFuture<Void> {
        // At once, as the client calls this on the connection's own thread: nothing can be read in between.
        channel.eventLoop.makeCompletedFuture {
            let pipeline = channel.pipeline.syncOperations
            do {
                let parser = try pipeline.handler(type: ByteToMessageHandler<HTTPResponseDecoder>.self)
                try pipeline.addHandler(AnswerGuard(), position: .after(parser))
            } catch {
                // Without it no connection may be used.
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
            // Not passed on: nothing waits for it. Nobody asked for another protocol (101).
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
