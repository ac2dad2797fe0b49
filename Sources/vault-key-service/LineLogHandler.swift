internal import Logging

/// A log handler that writes one line: time, level, label, metadata sorted by name, source and message.
struct LineLogHandler: LogHandler {
    let label: String
    let file: LogFile
    let level: LogLevel
    var metadata = Logger.Metadata()
    var metadataProvider: Logger.MetadataProvider?
    /// The level of this handler alone; nil for the level of all.
    private var ownLevel: Logger.Level?

    init(label: String, file: LogFile, level: LogLevel) {
        self.label = label
        self.file = file
        self.level = level
    }

    var logLevel: Logger.Level {
        get { ownLevel ?? level.current }
        set { ownLevel = newValue }
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        var line = ""
        line.reserveCapacity(256)
        line += event.level.rawValue
        line += " "
        line += label
        line += ":"
        for (key, value) in all(event).sorted(by: { $0.key < $1.key }) {
            line += " "
            line += key
            line += "="
            line += value.description
        }
        line += " ["
        line += event.source
        line += "] "
        line += event.message.description
        file.write(line, isUrgent: event.level >= .warning)
    }

    private func all(_ event: LogEvent) -> Logger.Metadata {
        var all = event.metadata ?? [:]
        if let error = event.error { all["error"] = "\(error)" }
        if let provided = metadataProvider?.get() { all.merge(provided) { explicit, _ in explicit } }
        if !metadata.isEmpty { all.merge(metadata) { explicit, _ in explicit } }
        return all
    }
}
