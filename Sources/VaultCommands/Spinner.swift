internal import Dispatch
internal import Foundation
internal import VaultBase

/// A sign on standard error that the command is busy. It appears only on a terminal, and only after half a second.
enum Spinner {
    private struct Timer: @unchecked Sendable {
        // Sound: Dispatch allows any thread to cancel a source, and nothing else happens to the source.
        let source: any DispatchSourceTimer
    }

    private struct State {
        var timer: Timer?
        var isDrawn = false
        var frame = 0
    }

    private static let state = Lock(State())
    private static let frames =
        Charset.isUTF8 ? ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"] : ["-", "\\", "|", "/"]

    /// Runs `body`, and shows a spinner if it takes long. After a question for a secret, also hides what is typed
    /// meanwhile.
    ///
    /// - Parameter reason: why it may take longer, shown after two seconds; nil for no known reason.
    static func during<R>(
        _ text: String, because reason: String? = nil, isQuiet: Bool = false, _ body: () async throws -> R
    ) async rethrows -> R {
        let begin = ContinuousClock.now
        if !isQuiet {
            start {
                guard let reason, ContinuousClock.now - begin > .seconds(2) else { return text }
                return "\(text). \(reason)"
            }
        }
        TerminalMode.hideWhileWorking()
        defer { stopAll() }
        return try await body()
    }

    /// Starts a spinner whose text changes, until ``stopAll()``.
    static func start(_ text: @escaping @Sendable () -> String) {
        guard isatty(STDERR_FILENO) == 1, ProcessInfo.processInfo.environment["TERM"] != "dumb" else { return }
        stopAll()
        let timer = DispatchSource.makeTimerSource(queue: .global())
        timer.schedule(deadline: .now() + .milliseconds(500), repeating: .milliseconds(100))
        timer.setEventHandler { @Sendable in
            state.withLock { state in
                guard state.timer != nil else { return }
                state.isDrawn = true
                state.frame = (state.frame + 1) % frames.count
                draw("\r\(frames[state.frame]) \(text())\u{1B}[K")
            }
        }
        let started = Timer(source: timer)
        state.withLock { $0.timer = started }
        timer.activate()
    }

    /// Removes the spinner, if there is one, and shows again what is typed.
    ///
    /// - Returns: whether there was one. Its line is empty now.
    @discardableResult
    static func stopAll() -> Bool {
        TerminalMode.endWork()
        return state.withLock { state in
            state.timer?.source.cancel()
            state.timer = nil
            defer { state.isDrawn = false }
            if state.isDrawn { draw("\r\u{1B}[K") }
            return state.isDrawn
        }
    }

    private static func draw(_ text: String) {
        let bytes = Array(text.utf8)
        _ = write(STDERR_FILENO, bytes, bytes.count)
    }
}
