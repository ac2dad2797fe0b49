internal import Dispatch
internal import Foundation
internal import VaultBase

/// The log on standard error. It writes many lines with one system call, because a call for each line would cost a good
/// part of each request.
///
/// A line is written within ``maxDelay``, a warning or worse at once. Nobody waits for a slow reader: lines beyond
/// ``maxPending`` bytes are dropped, and counted in a line of their own once the reader is back.
final class LogFile: Sendable {
    private static let maxDelay = DispatchTimeInterval.milliseconds(50)
    /// The most bytes that wait for the reader.
    private static let maxPending = 1024 * 1024
    /// The bytes beyond that for warnings and worse.
    private static let reserve = 64 * 1024

    private struct State {
        var pending: [UInt8] = []
        /// The bytes that are being written.
        var underWay = 0
        var isTimerSet = false
        /// The lines dropped since the last line about them.
        var dropped = 0
        /// The time of the last line, in seconds since 1970. All lines of that second share its text.
        var second = -1
        var secondText: [UInt8] = []
    }

    private let descriptor: Int32
    private let onDrop: @Sendable () -> Void
    private let state = Lock(State())
    private let queue = DispatchQueue(label: "credential-vault.key-service.log")

    /// - Parameter onDrop: called for each line that is dropped.
    init(descriptor: Int32 = STDERR_FILENO, onDrop: @escaping @Sendable () -> Void = {}) {
        self.descriptor = descriptor
        self.onDrop = onDrop
    }

    /// Adds a line: the time, `text` and a line feed.
    func write(_ text: String, isUrgent: Bool) {
        let (isKept, mustSetTimer) = state.withLock { state in
            let limit = Self.maxPending + (isUrgent ? Self.reserve : 0)
            guard state.underWay + state.pending.count + text.utf8.count < limit else {
                state.dropped += 1
                return (false, false)
            }
            Self.append(text, to: &state)
            defer { state.isTimerSet = true }
            return (true, !state.isTimerSet)
        }
        if !isKept { onDrop() }
        if isUrgent { queue.async { @Sendable in self.writePending() } }
        if mustSetTimer {
            queue.asyncAfter(deadline: .now() + Self.maxDelay) { @Sendable in
                self.state.withLock { $0.isTimerSet = false }
                self.writePending()
            }
        }
    }

    /// Returns when all lines are written, or when `timeout` is over.
    func flush(timeout: DispatchTimeInterval = .seconds(2)) {
        let done = DispatchSemaphore(value: 0)
        queue.async { @Sendable in
            self.writePending()
            done.signal()
        }
        _ = done.wait(timeout: .now() + timeout)
    }

    /// Writes the waiting lines. It runs only on the queue, so that the lines keep their order.
    private func writePending() {
        while true {
            let lines = state.withLock { state in
                if state.pending.isEmpty, state.dropped > 0 {
                    let text = "warning vault-key-service: \(state.dropped) log lines were dropped: nobody read the log"
                    state.dropped = 0
                    Self.append(text, to: &state)
                }
                state.underWay = state.pending.count
                defer { state.pending.removeAll() }
                return state.pending
            }
            guard !lines.isEmpty else { return }
            lines.withUnsafeBytes(writeAll)
            state.withLock { $0.underWay = 0 }
        }
    }

    private func writeAll(_ bytes: UnsafeRawBufferPointer) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = Foundation.write(
                descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
            if count >= 0 {
                rest = rest.dropFirst(count)
            } else if errno == EAGAIN {
                var descriptor = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                poll(&descriptor, 1, -1)
            } else if errno != EINTR {
                return  // There is no other place to report this.
            }
        }
    }

    private static func append(_ text: String, to state: inout State) {
        let now = time(nil)
        if now != state.second {
            state.second = now
            state.secondText = Self.text(of: now)
        }
        state.pending += state.secondText
        state.pending += text.utf8
        state.pending.append(UInt8(ascii: "\n"))
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
