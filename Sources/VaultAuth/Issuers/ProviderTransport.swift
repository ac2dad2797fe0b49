package import HTTPTypes
package import Logging
package import VaultHTTP

/// Carries what is sent to the provider or backend, within the limits of the settings. Each call is logged with its host,
/// and neither path nor query.
package struct ProviderTransport: HTTPTransport {
    private let base: any HTTPTransport
    private let limits: HTTPLimits
    private let logger: Logger

    package init(base: any HTTPTransport, limits: HTTPLimits, logger: Logger) {
        self.base = base
        self.limits = limits
        self.logger = logger
    }

    package func send(_ request: HTTPRequest, body: [UInt8], limits asked: HTTPLimits) async throws -> HTTPAnswer {
        var limits = asked
        limits.connect = self.limits.connect
        // A call that asks for less than usual still gets less.
        limits.exchange =
            asked.exchange == HTTPLimits().exchange ? self.limits.exchange : min(asked.exchange, self.limits.exchange)
        let metadata: Logger.Metadata = [
            "method": .string(request.method.rawValue), "host": .string(request.authority ?? ""),
        ]
        do {
            // Before the request, not after it: an answer may hold a renewed token, and a log handler of an app's own must
            // not come between that and the store.
            logger.debug("provider: asking", metadata: metadata)
            return try await base.send(request, body: body, limits: limits)
        } catch {
            let name = (error as? HTTPError).map { "\($0.code.name)" } ?? "\(type(of: error))"
            logger.notice("provider: no answer", metadata: metadata.merging(["error": .string(name)]) { $1 })
            throw error
        }
    }
}
