import NIOCore
import NIOPosix

/// A server that answers each request with any bytes, in any pieces. It ends with its last owner.
final class HostileServer: Sendable {
    struct Answer: Sendable {
        var pieces: [[UInt8]]
        /// Whether the connection ends with the last piece.
        var closes = true

        init(_ pieces: [[UInt8]], closes: Bool = true) {
            self.pieces = pieces
            self.closes = closes
        }

        init(_ text: String, closes: Bool = true) { self.init([Array(text.utf8)], closes: closes) }

        static func json(_ text: String) -> Answer {
            Answer(
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: \(text.utf8.count)\r\n\r\n\(text)",
                closes: false)
        }
    }

    let port: Int
    private let channel: any Channel

    /// - Parameter greeting: the bytes that each connection gets before any request.
    /// - Parameter answer: gets the path of a request.
    init(greeting: Answer? = nil, _ answer: @escaping @Sendable (_ path: String) -> Answer) async throws {
        channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Handler(greeting, answer))
                }
            }
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .bind(host: "127.0.0.1", port: 0).get()
        port = channel.localAddress?.port ?? 0
    }

    deinit { channel.close(promise: nil) }

    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        private let greeting: Answer?
        private let answer: @Sendable (String) -> Answer
        private var received = ""

        init(_ greeting: Answer?, _ answer: @escaping @Sendable (String) -> Answer) {
            self.greeting = greeting
            self.answer = answer
        }

        func channelActive(context: ChannelHandlerContext) {
            if let greeting { send(greeting, context) }
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            received += String(buffer: unwrapInboundIn(data))
            guard let end = received.firstRange(of: "\r\n\r\n") else { return }
            let length = received.lowercased().firstMatch(of: /content-length: (\d+)/).flatMap { Int($0.1) } ?? 0
            guard received[end.upperBound...].utf8.count >= length else { return }
            let path = received.split(separator: " ").dropFirst().first.map(String.init) ?? ""
            received = ""
            send(answer(path), context)
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

        private func send(_ answer: Answer, _ context: ChannelHandlerContext) {
            for piece in answer.pieces {
                context.writeAndFlush(NIOAny(ByteBuffer(bytes: piece)), promise: nil)
            }
            if answer.closes { context.close(promise: nil) }
        }
    }
}
