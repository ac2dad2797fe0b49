package import HTTPTypes
package import VaultBase
package import VaultHTTP
internal import VaultNetworking

/// The real transport, whose connections can be dropped.
///
/// A server that stops closes its connections. A client may notice this only when it sends, and then cannot know
/// whether the request arrived. Tests with a server that is away need a refused connection instead.
package final class Network: HTTPTransport {
    private let transport = Lock(AsyncHTTPTransport())

    /// Whether every connection is refused.
    package let isCut = Lock(false)

    package init() {}

    package func dropConnections() { transport.withLock { $0 = AsyncHTTPTransport() } }

    package func send(_ request: HTTPRequest, body: [UInt8], limits: HTTPLimits) async throws -> HTTPAnswer {
        guard !isCut.withLock({ $0 }) else { throw HTTPError(.notConnected, authority: request.authority ?? "") }
        return try await transport.withLock { $0 }.send(request, body: body, limits: limits)
    }
}
