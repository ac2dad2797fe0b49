import HTTPTypes
import NIOCore
import NIOHTTP1
import NIOPosix
import VaultHTTP

/// An HTTP server on a free port of this machine, with answers of any kind. It ends with its last owner.
final class LoopbackServer: Sendable {
    struct Request: Sendable {
        let method: String
        /// Path and query as they came.
        let target: String
        let headerFields: [(name: String, value: String)]
        let body: String

        var path: String { String(target.prefix { $0 != "?" }) }

        /// The header field, if it came exactly once.
        func field(_ name: String) -> String? {
            let values = headerFields.filter { $0.name.lowercased() == name.lowercased() }.map(\.value)
            return values.count == 1 ? values[0] : nil
        }
    }

    enum Reply: Sendable {
        case answer(HTTPAnswer)
        /// The head announces the whole body, but after half of it the connection closes.
        case truncated(HTTPAnswer)
        /// Half of the body, then nothing more.
        case stalled(HTTPAnswer)
        /// Sends nothing, and closes the connection.
        case closed
        /// Sends nothing.
        case silence
    }

    let port: Int
    private let channel: any Channel

    init(_ answer: @escaping @Sendable (Request) async -> Reply) async throws {
        channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    try pipeline.configureHTTPServerPipeline()
                    try pipeline.addHandler(Handler(answer))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        port = channel.localAddress?.port ?? 0
    }

    deinit { channel.close(promise: nil) }

    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = HTTPServerRequestPart
        private let answer: @Sendable (Request) async -> Reply
        private var head: HTTPRequestHead?
        private var body = ByteBuffer()

        init(_ answer: @escaping @Sendable (Request) async -> Reply) {
            self.answer = answer
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            switch unwrapInboundIn(data) {
            case .head(let head): self.head = head
            case .body(var part): body.writeBuffer(&part)
            case .end:
                guard let head else { return }
                let request = Request(
                    method: head.method.rawValue, target: head.uri,
                    headerFields: head.headers.map { ($0.name, $0.value) }, body: String(buffer: body))
                body.clear()
                Task { [answer, channel = context.channel] in
                    try? await Handler.send(await answer(request), on: channel)
                }
            }
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

        private static func send(_ reply: Reply, on channel: any Channel) async throws {
            switch reply {
            case .answer(let answer): try await send(answer, bytes: answer.body.count, on: channel)
            case .truncated(let answer):
                try await send(answer, bytes: answer.body.count / 2, on: channel)
                try await channel.close()
            case .stalled(let answer): try await send(answer, bytes: answer.body.count / 2, on: channel)
            case .closed: try await channel.close()
            case .silence: break
            }
        }

        /// Sends the head and this many bytes of the body.
        private static func send(_ answer: HTTPAnswer, bytes: Int, on channel: any Channel) async throws {
            var headers = HTTPHeaders(answer.headerFields.map { ($0.name.rawName, $0.value) })
            headers.replaceOrAdd(name: "content-length", value: "\(answer.body.count)")
            let status = HTTPResponseStatus(statusCode: answer.status.code)
            let head = HTTPResponseHead(version: .http1_1, status: status, headers: headers)
            channel.write(HTTPServerResponsePart.head(head), promise: nil)
            let body = ByteBuffer(bytes: answer.body.prefix(bytes))
            try await channel.writeAndFlush(HTTPServerResponsePart.body(.byteBuffer(body))).get()
            guard bytes == answer.body.count else { return }
            try await channel.writeAndFlush(HTTPServerResponsePart.end(nil)).get()
        }
    }
}
