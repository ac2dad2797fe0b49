internal import NIOCore
internal import NIOHTTP1

/// The handler behind the HTTP parser. It refuses what the parser accepts against RFC 9112, and tells of the requests
/// that either of them refused.
final class RequestCheck: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart

    private let onRefusal: @Sendable () -> Void
    private var isRefused = false

    /// - Parameter onRefusal: called for the first refused request of the connection. It is also the last request.
    init(onRefusal: @escaping @Sendable () -> Void) {
        self.onRefusal = onRefusal
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isRefused else { return }
        guard case .head(var head) = unwrapInboundIn(data) else { return context.fireChannelRead(data) }
        // Two servers could read two different hosts (RFC 9112 section 3.2). Only HTTP/1.0 needs none.
        let hosts = head.headers["Host"].count
        guard hosts == 1 || (hosts == 0 && head.version == .http1_0) else {
            return errorCaught(context: context, error: HTTPParserError.invalidHeaderToken)
        }
        guard !head.isKeepAlive else { return context.fireChannelRead(data) }
        // The handlers behind this one know one form of it, and not `Close, x` or the default of HTTP/1.0.
        head.headers.replaceOrAdd(name: "Connection", value: "close")
        context.fireChannelRead(wrapInboundOut(.head(head)))
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // The parser also calls it an error if a closed connection ends in the middle of a request.
        if error is HTTPParserError, !isRefused, context.channel.isActive {
            isRefused = true
            onRefusal()
        }
        // The server answers 400 to an error of the parser.
        context.fireErrorCaught(error)
    }
}
