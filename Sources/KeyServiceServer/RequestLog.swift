internal import HTTPTypes
internal import KeyServiceCore
internal import Logging

/// The log line of each request: no body, no secret, and a tag instead of the id of the key.
///
/// The whole line is the message. Metadata would be a dictionary to build, sort and print for each request.
struct RequestLog: Sendable {
    private let logger: Logger
    private let keyTags: KeyTags
    private let malformedRequests = MinuteCount()

    init(_ logger: Logger, keyTags: KeyTags) {
        self.logger = logger
        self.keyTags = keyTags
    }

    /// Returns the tag that stands for a key.
    func tag(of keyID: String) -> String { keyTags.tag(of: keyID) }

    func request(_ route: ServiceRoute, _ outcome: Outcome, duration: Duration) {
        let status = outcome.answer.status.code
        let level: Logger.Level = status == 500 ? .error : .info
        guard logger.logLevel <= level else { return }
        let (seconds, attoseconds) = duration.components
        var line = "Request duration_us="
        line += String(seconds * 1_000_000 + attoseconds / 1_000_000_000_000)
        if level == .error, let fault = outcome.fault { line += " error=\(fault)" }
        if let keyID = outcome.keyID {
            line += " keytag="
            line += keyTags.tag(of: keyID)
        }
        line += " method=POST route="
        line += route.name
        line += " status="
        line += String(status)
        logger.log(level: level, "\(line)")
    }

    /// Logs requests of addresses that have sent too many refused ones. One line for each request would fill the disk.
    func limited(_ count: Int) {
        logger.warning("Refused requests of addresses over the limit of refusals count=\(count)")
    }

    /// Logs a request that no route takes. Its path is not logged: a confused client may have put a secret into it.
    func refusal(_ route: ServiceRoute, status: Int) {
        guard logger.logLevel <= .info else { return }
        logger.info("Request route=\(route.name) status=\(status)")
    }

    /// Logs requests that the HTTP parser refused, at most once a minute. Not one of their bytes is logged: it may be
    /// anything.
    func malformed() {
        guard logger.logLevel <= .info, let count = malformedRequests.add(at: MonotonicTime.now()) else { return }
        logger.info("Request count=\(count) route=malformed status=400")
    }
}

/// The log of the libraries below the service: only warnings and errors, and no id for each request. The service itself
/// logs each request, once.
struct QuietLogHandler: LogHandler {
    private let logger: Logger

    init(_ logger: Logger) { self.logger = logger }

    var logLevel: Logger.Level {
        get { max(logger.logLevel, .warning) }
        set {}
    }
    var metadata: Logger.Metadata {
        get { [:] }
        set {}
    }
    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { nil }
        set {}
    }

    func log(event: LogEvent) {
        logger.log(
            level: event.level, event.message, error: event.error, metadata: event.metadata, source: event.source)
    }
}

/// The kinds of requests in the log and in the metrics.
enum ServiceRoute: Int, CaseIterable {
    case createKey, key, alive, ready, metrics
    // The protocol's version 2.
    case versions, openAPI, create, evaluate, confirm, end, claim, devices, revoke, rename, unlock
    /// Any other path.
    case none

    /// The name of the kind.
    var name: String {
        switch self {
        case .createKey: "createkey"
        case .key: "key"
        case .alive: "healthz"
        case .ready: "readyz"
        case .metrics: "metrics"
        case .versions: "versions"
        case .openAPI: "openapi"
        case .create: "create"
        case .evaluate: "evaluate"
        case .confirm: "confirm"
        case .end: "end"
        case .claim: "claim"
        case .devices: "devices"
        case .revoke: "revoke"
        case .rename: "rename"
        case .unlock: "unlock"
        case .none: "none"
        }
    }
}
