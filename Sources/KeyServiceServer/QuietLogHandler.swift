internal import KeyServiceCore
internal import Logging

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
