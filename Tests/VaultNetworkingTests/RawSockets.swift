import NIOCore
import NIOPosix
import VaultBase

/// Sends bytes over a plain connection and shows the answer.
struct RawClient {
    /// All bytes that the server sends until it closes the connection. `text` may be empty.
    static func exchange(_ text: String, port: Int, address: String = "127.0.0.1") async throws -> String {
        let received = Received()
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelInitializer { $0.pipeline.addHandler(Collector(received)) }
            .connect(host: address, port: port).get()
        if !text.isEmpty { try? await channel.writeAndFlush(ByteBuffer(string: text)).get() }
        try await channel.closeFuture.get()
        return received.text
    }

    static func get(
        _ target: String, host: String? = nil, method: String = "GET", port: Int, address: String = "127.0.0.1"
    ) async throws -> String {
        let host = host ?? "127.0.0.1:\(port)"
        return try await exchange(
            "\(method) \(target) HTTP/1.1\r\nHost: \(host)\r\n\r\n", port: port, address: address)
    }

    private final class Received: Sendable {
        private let bytes = Lock<[UInt8]>([])
        var text: String { String(decoding: bytes.withLock { $0 }, as: UTF8.self) }
        func append(_ buffer: ByteBuffer) { bytes.withLock { $0.append(contentsOf: buffer.readableBytesView) } }
    }

    private final class Collector: ChannelInboundHandler, Sendable {
        typealias InboundIn = ByteBuffer
        private let received: Received
        init(_ received: Received) { self.received = received }
        func channelRead(context: ChannelHandlerContext, data: NIOAny) { received.append(unwrapInboundIn(data)) }
        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
    }
}

/// A server on a free port that handles every request as the test says.
final class RawServer: Sendable {
    enum Reaction: Sendable, Equatable {
        case answer(String)
        case close
        case hang
        /// Sends a head, then a body without end.
        case flood
        /// Sends a head and half of a body, then stops.
        case stall
    }

    let port: Int
    private let channel: any Channel
    private let requests: Requests

    var received: [String] { requests.log.withLock { $0 } }

    init(_ reaction: Reaction) async throws {
        let requests = Requests()
        channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { $0.pipeline.addHandler(Handler(reaction, requests)) }
            .bind(host: "127.0.0.1", port: 0).get()
        port = channel.localAddress?.port ?? 0
        self.requests = requests
    }

    func stop() async { try? await channel.close().get() }

    private final class Requests: Sendable {
        let log = Lock<[String]>([])
    }

    private final class Handler: ChannelInboundHandler, Sendable {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer
        private let reaction: Reaction
        private let requests: Requests

        init(_ reaction: Reaction, _ requests: Requests) {
            self.reaction = reaction
            self.requests = requests
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            requests.log.withLock { $0.append(String(buffer: unwrapInboundIn(data))) }
            switch reaction {
            case .answer(let text): send(text, context)
            case .close: context.close(promise: nil)
            case .hang: break
            case .stall: send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello", context)
            case .flood:
                send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", context)
                flood(context)
            }
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

        private func send(_ text: String, _ context: ChannelHandlerContext) {
            context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: text)), promise: nil)
        }

        private func flood(_ context: ChannelHandlerContext) {
            let loopBound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
            let chunk = ByteBuffer(string: "1000\r\n" + String(repeating: "x", count: 4096) + "\r\n")
            context.writeAndFlush(wrapOutboundOut(chunk)).whenSuccess {
                let (handler, context) = loopBound.value
                handler.flood(context)
            }
        }
    }
}
