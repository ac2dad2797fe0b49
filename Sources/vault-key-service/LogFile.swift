internal import Dispatch
internal import Foundation
internal import Logging
internal import VaultLocks

/// The log on standard error. It writes many lines with one system call, because a call for each line would cost a good
/// part of each request.
///
/// A line is written within ``maxDelay``, a warning or worse at once. Call ``flush()`` before the process ends. If
/// nobody reads the lines, logging waits. No line is dropped.
final class LogFile: Sendable {
    private static let maxDelay = DispatchTimeInterval.milliseconds(50)
    private static let maxPending = 64 * 1024

    private struct State {
        var pending: [UInt8] = []
        var isTimerSet = false
        /// The time of the last line, in seconds since 1970. All lines of that second share its text.
        var second = -1
        var secondText: [UInt8] = []
    }

    private let state = Lock(State())
    private let queue = DispatchQueue(label: "credential-vault.key-service.log")

    /// Adds a line: the time, `text` and a line feed.
    func write(_ text: String, isUrgent: Bool) {
        let (mustFlush, mustSetTimer) = state.withLock { state in
            let now = time(nil)
            if now != state.second {
                state.second = now
                state.secondText = Self.text(of: now)
            }
            state.pending += state.secondText
            state.pending += text.utf8
            state.pending.append(UInt8(ascii: "\n"))
            let mustFlush = isUrgent || state.pending.count > Self.maxPending
            defer { state.isTimerSet = true }
            return (mustFlush, !state.isTimerSet)
        }
        if mustFlush { flush() }
        if mustSetTimer {
            queue.asyncAfter(deadline: .now() + Self.maxDelay) { @Sendable in
                self.state.withLock { $0.isTimerSet = false }
                self.writePending()
            }
        }
    }

    /// Returns when all lines are written.
    func flush() {
        queue.sync { writePending() }
    }

    /// Writes the waiting lines. It runs only on the queue, so that the lines keep their order.
    private func writePending() {
        let lines = state.withLock { state in
            defer { state.pending.removeAll() }
            return state.pending
        }
        lines.withUnsafeBytes { rest in
            var rest = rest[...]
            while !rest.isEmpty {
                let count = Foundation.write(
                    STDERR_FILENO, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
                if count >= 0 {
                    rest = rest.dropFirst(count)
                } else if errno == EAGAIN {
                    var descriptor = pollfd(fd: STDERR_FILENO, events: Int16(POLLOUT), revents: 0)
                    poll(&descriptor, 1, -1)
                } else if errno != EINTR {
                    return  // There is no other place to report this.
                }
            }
        }
    }

    /// The time in UTC. The local time would cost an access to the file system each time.
    private static func text(of second: Int) -> [UInt8] {
        var second = second
        var parts = tm()
        var buffer = [CChar](repeating: 0, count: 32)
        gmtime_r(&second, &parts)
        let size = strftime(&buffer, buffer.count, "%Y-%m-%dT%H:%M:%S+0000 ", &parts)
        return buffer[..<size].map { UInt8(bitPattern: $0) }
    }
}

/// A log handler that writes one line: time, level, label, metadata sorted by name, source and message.
struct LineLogHandler: LogHandler {
    let label: String
    let file: LogFile
    var logLevel = Logger.Level.info
    var metadata = Logger.Metadata()
    var metadataProvider: Logger.MetadataProvider?

    init(label: String, file: LogFile) {
        self.label = label
        self.file = file
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        var all = event.metadata ?? [:]
        if let error = event.error { all["error"] = "\(error)" }
        if let provided = metadataProvider?.get() { all.merge(provided) { explicit, _ in explicit } }
        if !metadata.isEmpty { all.merge(metadata) { explicit, _ in explicit } }
        var line = ""
        line.reserveCapacity(256)
        line += "\(event.level.rawValue) \(label):"
        for (key, value) in all.sorted(by: { $0.key < $1.key }) {
            line += " "
            line += key
            line += "="
            line += value.description
        }
        line += " [\(event.source)] \(event.message)"
        file.write(line, isUrgent: event.level >= .warning)
    }
}
