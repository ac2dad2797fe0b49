internal import HTTPTypes
internal import NIOCore
internal import NIOHTTP1
internal import VaultHTTP

/// A connection to the loopback listener. It reads one request head, answers with one page, and closes.
final class LoopbackConnection: ChannelDuplexHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundIn = LoopbackPage
    typealias OutboundOut = HTTPServerResponsePart

    /// The event that ends the connection. An unanswered callback gets the neutral page.
    struct Stop: Sendable {}

    private enum State {
        case reading
        case callback
        case answered
        case flushed
    }

    private let path: String
    private let mailbox: CallbackMailbox
    private var state = State.reading
    private var isHead = false
    private var isUnknown = false
    private var isStopping = false
    private var timer: Scheduled<Void>?

    init(path: String, mailbox: CallbackMailbox) {
        self.path = path
        self.mailbox = mailbox
    }

    func handlerAdded(context: ChannelHandlerContext) {
        // The limit is for the whole head, so a slow client cannot keep the connection.
        after(.seconds(10), context) { $0.answer(.tooSlow, context: $1) }
    }

    func channelInactive(context: ChannelHandlerContext) {
        timer?.cancel()
        context.fireChannelInactive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard state == .reading, case .head(let head) = unwrapInboundIn(data) else { return }
        isHead = head.method == .HEAD
        let hosts = head.headers["host"]
        let requestPath = head.uri.prefix { $0 != "?" && $0 != "#" }
        if hosts.count != 1 || !isOwn(host: hosts[0], port: context.channel.localAddress?.port) {
            answer(.badRequest, context: context)
        } else if requestPath != path {
            answer(.notFound, context: context)
        } else if isUnknown {
            answer(.unknownPeer, context: context)
        } else if head.method != .GET {
            answer(.wrongMethod, context: context)
        } else {
            // This comes before the offer, as the answer may come at once from another thread.
            state = .callback
            after(.seconds(30), context) { $0.answer(.neutral, context: $1) }
            if !mailbox.offer(redirect(to: head.uri, over: context.channel)) {
                answer(.gone, context: context)
            }
        }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is RequestSizeLimit.Exceeded { answer(.tooLarge, context: context) }
        if event is PeerCheck.Unknown { isUnknown = true }
        context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if state == .reading, error is HTTPParserError {
            answer(.badRequest, context: context)
        } else {
            context.close(promise: nil)
        }
    }

    /// Writes the page for the callback, from `ReceivedRedirect`.
    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        answer(unwrapOutboundIn(data), context: context, promise: promise)
    }

    func triggerUserOutboundEvent(context: ChannelHandlerContext, event: Any, promise: EventLoopPromise<Void>?) {
        guard event is Stop else { return context.triggerUserOutboundEvent(event, promise: promise) }
        isStopping = true
        switch state {
        case .reading, .flushed: context.close(promise: nil)
        case .callback: answer(.neutral, context: context)
        case .answered: break
        }
        promise?.succeed()
    }

    private func redirect(to target: String, over channel: any Channel) -> ReceivedRedirect {
        ReceivedRedirect(target: target) { [mailbox] page in
            if page.waitsOn { mailbox.reopen() }
            try? await channel.writeAndFlush(LoopbackPage(status: page.status, html: page.html)).get()
        }
    }

    private func isOwn(host: String, port: Int?) -> Bool {
        guard let port else { return false }
        return ["127.0.0.1", "localhost", "[::1]"].contains { name in
            host.lowercased() == "\(name):\(port)" || (port == 80 && host.lowercased() == name)
        }
    }

    private func answer(
        _ page: LoopbackPage, context: ChannelHandlerContext, promise: EventLoopPromise<Void>? = nil
    ) {
        guard state == .reading || state == .callback else {
            promise?.succeed()
            return
        }
        state = .answered
        let body = ByteBuffer(string: page.html)
        let headers: HTTPHeaders = [
            "Content-Type": "text/html; charset=utf-8", "Content-Length": "\(body.readableBytes)",
            "Cache-Control": "no-store", "Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff",
            "Content-Security-Policy":
                "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
            "Connection": "close",
        ]
        let head = HTTPResponseHead(version: .http1_1, status: .init(statusCode: page.status.code), headers: headers)
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        if !isHead { context.write(wrapOutboundOut(.body(.byteBuffer(body))), promise: nil) }
        let flushed = promise ?? context.eventLoop.makePromise()
        let loopBound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        flushed.futureResult.whenComplete { _ in
            let (handler, context) = loopBound.value
            handler.state = .flushed
            // Closing with unread input would reset the connection and lose the page. So only our side ends, and the
            // browser ends its own.
            context.close(mode: handler.isStopping ? .all : .output, promise: nil)
        }
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: flushed)
        after(.seconds(2), context) { $1.close(promise: nil) }
    }

    private func after(
        _ time: TimeAmount, _ context: ChannelHandlerContext,
        do action: @escaping @Sendable (LoopbackConnection, ChannelHandlerContext) -> Void
    ) {
        timer?.cancel()
        let loopBound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        timer = context.eventLoop.scheduleTask(in: time) { action(loopBound.value.0, loopBound.value.1) }
    }
}

/// A limit for the bytes of a connection. It reports the first byte beyond the limit.
final class RequestSizeLimit: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    /// The event for too many bytes.
    struct Exceeded: Sendable {}

    private var remaining: Int

    init(bytes: Int) {
        remaining = bytes
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let size = unwrapInboundIn(data).readableBytes
        guard remaining >= 0 else { return }
        remaining -= size
        if remaining >= 0 {
            context.fireChannelRead(data)
        } else {
            context.fireUserInboundEventTriggered(Exceeded())
        }
    }
}
