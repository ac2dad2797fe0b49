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
