package import HTTPTypes
package import Logging
package import VaultHTTP

/// A transport to the provider or backend, with the limits of the settings. Each call is logged with its host, but
/// without path and query.
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
        // A call with a lower limit than usual keeps its limit.
        limits.exchange =
            asked.exchange == HTTPLimits().exchange ? self.limits.exchange : min(asked.exchange, self.limits.exchange)
        let metadata: Logger.Metadata = [
            "method": .string(request.method.rawValue), "host": .string(request.authority ?? ""),
        ]
        do {
            // The log line comes before the request. An answer may hold a renewed token, and an app's log handler must
            // not run before that token is stored.
            logger.debug("provider: asking", metadata: metadata)
            return try await base.send(request, body: body, limits: limits)
        } catch {
            let name = (error as? HTTPError).map { "\($0.code.name)" } ?? "\(type(of: error))"
            logger.notice("provider: no answer", metadata: metadata.merging(["error": .string(name)]) { $1 })
            throw error
        }
    }
}
