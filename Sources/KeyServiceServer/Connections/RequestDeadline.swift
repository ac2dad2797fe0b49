internal import HTTPTypes
internal import NIOCore
internal import NIOHTTP1
internal import NIOHTTPTypes

/// The handler that closes a connection if a request takes too long to arrive, or after its last answer: one with
/// `Connection: close`, the answer to such a request, or one before too many others.
///
/// Without it, a few clients that send a byte now and then could keep all connections. The time for a request begins
/// with its first byte. The time for the first request begins with the connection.
final class RequestDeadline: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    /// The time for a client to read the last answer. A connection that closes with unread data loses the answer.
    private static let lingering = TimeAmount.seconds(2)

    /// The most requests on a connection that wait for their answers. A usual client does not send so many ahead.
    /// Further requests do not begin, so none of them counts as a guess. `Connection: close` in the last answer tells
    /// this to the client (RFC 9112 section 9.6).
    static let maxUnanswered = 32

    private let limit: TimeAmount
    private let connection: ClientConnection
    private let mustLeave: @Sendable (ClientConnection) -> Bool
    private let onTimeout: @Sendable () -> Void
    private var deadline: NIODeadline?
    /// The timer of the connection. A new timer for each request would cost too much.
    private var timer: Scheduled<Void>?
    private var hasReceived = false
    private var isReading = false
    /// Whether the last request has come that gets an answer. Further ones are dropped.
    private var hasLastRequest = false
    private var unanswered = 0
    /// The number of answers that the client has not taken yet, and the deadline for them.
    private var unwritten = 0
    private var writeDeadline: NIODeadline?
    private var isAnswering = false
    private var closesAfterAnswer = false
    private var isLingering = false

    /// - Parameter mustLeave: whether the connection must close after its present answers: see
    ///   ``ConnectionTable/mustLeave(_:)``.
    init(
        limit: TimeAmount, connection: ClientConnection,
        mustLeave: @escaping @Sendable (ClientConnection) -> Bool = { _ in false },
        onTimeout: @escaping @Sendable () -> Void
    ) {
        self.limit = limit
        self.connection = connection
        self.mustLeave = mustLeave
        self.onTimeout = onTimeout
    }

    func handlerAdded(context: ChannelHandlerContext) {
        setDeadline(limit, context)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        timer?.cancel()
        timer = nil
        deadline = nil
        writeDeadline = nil
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        // The client has left, so its place is free for others.
        if case ChannelEvent.inputClosed? = event as? ChannelEvent, unanswered == 0 {
            return context.close(promise: nil)
        }
        guard event is ArrivalHandler.Arrival else { return context.fireUserInboundEventTriggered(event) }
        hasReceived = true
        if deadline == nil, unanswered == 0 { setDeadline(limit, context) }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let part = unwrapInboundIn(data)
        switch part {
        case .head(let request):
            guard !hasLastRequest, !closesAfterAnswer, unanswered < Self.maxUnanswered else {
                hasLastRequest = true
                return
            }
            isReading = true
            unanswered += 1
            hasLastRequest = request.headerFields[.connection] == "close"
        case .body: guard isReading, !isLingering else { return }
        case .end:
            guard isReading else { return }
            isReading = false
            // The client has sent its whole request, so it reads the answer now.
            guard !isLingering else { return context.close(mode: .output, promise: nil) }
            deadline = nil
            guard note() else {
                // The end of the connection must not look like the end of the request, which would then begin.
                return context.fireErrorCaught(HTTPParserError.invalidEOFState)
            }
        }
        context.fireChannelRead(data)
    }

    /// Notes for the table of connections what this one does.
    ///
    /// - Returns: false if the table closes the connection.
    @discardableResult
    private func note() -> Bool {
        let isWorking = unanswered > (isReading ? 1 : 0) || unwritten > 0
        return connection.enter(isWorking ? .underWay : isReading ? .arriving : .idle)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        switch unwrapOutboundIn(data) {
        case .head(var head):
            isAnswering = true
            if mustLeave(connection) { hasLastRequest = true }
            if hasLastRequest, unanswered == 1 { head.headerFields[.connection] = "close" }
            closesAfterAnswer = closesAfterAnswer || head.headerFields[.connection] == "close"
            context.write(wrapOutboundOut(.head(head)), promise: promise)
        case .body: context.write(data, promise: promise)
        case .end:
            isAnswering = false
            unanswered -= 1
            let promise = promise ?? context.eventLoop.makePromise(of: Void.self)
            watch(promise.futureResult, context)
            guard closesAfterAnswer else {
                if isReading, deadline == nil { setDeadline(limit, context) }
                return context.write(data, promise: promise)
            }
            context.writeAndFlush(data, promise: promise)
            linger(context)
        }
    }

    /// Gives the client a limited time for taking an answer.
    private func watch(_ written: EventLoopFuture<Void>, _ context: ChannelHandlerContext) {
        unwritten += 1
        if writeDeadline == nil {
            let end = NIODeadline.now() + limit
            writeDeadline = end
            if timer == nil { setTimer(end, context) }
        }
        written.assumeIsolated().whenComplete { _ in
            self.unwritten -= 1
            // A client that reads slowly gets no more time with each answer.
            if self.unwritten == 0 { self.writeDeadline = nil }
            self.note()
        }
    }

    /// Drops all further bytes until the client closes the connection. This side ends only after the whole request: a
    /// client that still sends may take the end for a broken connection.
    private func linger(_ context: ChannelHandlerContext) {
        isLingering = true
        setDeadline(Self.lingering, context)
        if !isReading { context.close(mode: .output, promise: nil) }
    }

    private func setDeadline(_ time: TimeAmount, _ context: ChannelHandlerContext) {
        let end = NIODeadline.now() + time
        deadline = end
        if let timer, isLingering { timer.cancel() } else if timer != nil { return }
        setTimer(end, context)
    }

    private func setTimer(_ end: NIODeadline, _ context: ChannelHandlerContext) {
        timer = context.eventLoop.assumeIsolated().scheduleTask(deadline: end) {
            self.timer = nil
            let deadlines = [self.deadline, self.writeDeadline].compactMap { $0 }
            guard let deadline = deadlines.min() else { return }
            if deadline > .now() { self.setTimer(deadline, context) } else { self.end(context) }
        }
    }

    private func end(_ context: ChannelHandlerContext) {
        deadline = nil
        guard !isLingering, unwritten == 0 else { return context.close(promise: nil) }
        onTimeout()
        if hasReceived, !isAnswering {
            let head = HTTPResponse(
                status: .requestTimeout,
                headerFields: [.connection: "close", .contentLength: "0", .cacheControl: "no-store"])
            context.write(wrapOutboundOut(.head(head)), promise: nil)
            context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        }
        context.close(promise: nil)
    }
}
