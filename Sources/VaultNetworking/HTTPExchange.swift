internal import AsyncHTTPClient
internal import HTTPTypes
internal import NIOCore
internal import NIOHTTP1
internal import VaultBase
internal import VaultHTTP

/// The collector of one answer up to a size. It also notes whether the request was sent.
final class HTTPExchange: HTTPClientResponseDelegate {
    /// The error for an answer over the limit.
    struct AnswerTooLarge: Error {}

    private struct State {
        var headWasSent = false
        var head: HTTPResponseHead?
        var body: [UInt8] = []
    }

    private let bodyLimit: Int
    private let state = Lock(State())

    init(bodyLimit: Int) {
        self.bodyLimit = bodyLimit
    }

    /// Whether a part of the request may have reached the server.
    var headWasSent: Bool { state.withLock { $0.headWasSent } }

    func didSendRequestHead(task: HTTPClient.Task<HTTPAnswer>, _ head: HTTPRequestHead) {
        state.withLock { $0.headWasSent = true }
    }

    func didReceiveHead(task: HTTPClient.Task<HTTPAnswer>, _ head: HTTPResponseHead) -> EventLoopFuture<Void> {
        state.withLock { $0.head = head }
        return task.eventLoop.makeSucceededVoidFuture()
    }

    func didReceiveBodyPart(task: HTTPClient.Task<HTTPAnswer>, _ buffer: ByteBuffer) -> EventLoopFuture<Void> {
        let fits = state.withLock { state in
            guard buffer.readableBytes <= bodyLimit - state.body.count else { return false }
            state.body.append(contentsOf: buffer.readableBytesView)
            return true
        }
        return fits
            ? task.eventLoop.makeSucceededVoidFuture() : task.eventLoop.makeFailedFuture(AnswerTooLarge())
    }

    func didFinishRequest(task: HTTPClient.Task<HTTPAnswer>) throws -> HTTPAnswer {
        try state.withLock { state in
            guard let head = state.head, (100...999).contains(head.status.code) else {
                throw HTTPClientError.remoteConnectionClosed
            }
            var fields = HTTPFields()
            for header in head.headers {
                guard let name = HTTPField.Name(header.name) else { continue }
                fields.append(HTTPField(name: name, value: header.value))
            }
            return HTTPAnswer(status: .init(code: Int(head.status.code)), headerFields: fields, body: state.body)
        }
    }
}

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
