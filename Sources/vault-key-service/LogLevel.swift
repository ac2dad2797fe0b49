internal import Logging
internal import VaultBase

/// The level of the log, which an operator can change while the service runs.
final class LogLevel: Sendable {
    private let level: Lock<Logger.Level>

    init(_ level: Logger.Level) { self.level = Lock(level) }

    var current: Logger.Level {
        get { level.withLock { $0 } }
        set { level.withLock { $0 = newValue } }
    }

    /// Logs more from now on, or less, by one step.
    func step(more: Bool) {
        level.withLock { level in
            let all = Logger.Level.allCases.sorted()
            guard let index = all.firstIndex(of: level) else { return }
            level = all[min(max(0, index + (more ? -1 : 1)), all.count - 1)]
        }
    }

    /// Reads the level from the settings.
    ///
    /// - Throws: a ``Failure`` if there is no such level.
    static func read(_ option: String?, _ settings: Settings) throws -> Logger.Level {
        let name = settings.string(option, "logLevel") ?? "info"
        guard let level = Logger.Level(rawValue: name) else {
            throw Failure.configuration(
                "There is no log level \"\(name)\". Use one of: "
                    + Logger.Level.allCases.map(\.rawValue).joined(separator: ", "))
        }
        return level
    }
}
