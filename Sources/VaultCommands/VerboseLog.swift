internal import Logging

/// The log of `--verbose`: writes each log line of the library to standard error.
struct VerboseLog: LogHandler {
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.debug

    subscript(metadataKey key: String) -> Logger.MetadataValue? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        Spinner.stopAll()
        let more = metadata.merging(event.metadata ?? [:]) { $1 }.sorted { $0.key < $1.key }.map { " \($0)=\($1)" }
        Output.note(Printable.text("vault: \(event.level): \(event.message)\(more.joined())"))
    }
}
