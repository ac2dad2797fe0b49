public import HTTPTypes
internal import VaultBase
public import VaultHTTP

/// A transport without a network. A closure answers, and the requests are kept for the test.
public final class FakeTransport: HTTPTransport {
    /// One request that was sent.
    public struct Sent: Sendable {
        /// The method, the URL and the header fields.
        public let request: HTTPRequest
        /// The body, empty for none.
        public let body: [UInt8]
    }

    private let requests = Lock<[Sent]>([])
    private let answer: @Sendable (HTTPRequest, [UInt8]) async throws -> HTTPAnswer

    /// - Parameter answer: answers each request. For a network that fails, throw
    ///   `HTTPError(.notConnected, authority: "api.example")`.
    public init(_ answer: @escaping @Sendable (HTTPRequest, [UInt8]) async throws -> HTTPAnswer) {
        self.answer = answer
    }

    /// All requests so far, oldest first.
    public var sent: [Sent] { requests.withLock { $0 } }

    /// Keeps the request, and gives it to the closure. The limits count for nothing.
    ///
    /// - Throws: errors of the closure.
    public func send(_ request: HTTPRequest, body: [UInt8], limits: HTTPLimits) async throws -> HTTPAnswer {
        requests.withLock { $0.append(Sent(request: request, body: body)) }
        return try await answer(request, body)
    }
}
