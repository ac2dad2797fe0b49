internal import VaultBase

/// Counts what anybody can cause without end, for one line a minute.
final class MinuteCount: Sendable {
    private struct State {
        var count = 0
        var nextLine = 0.0
    }

    private let state = Lock(State())

    /// Adds one.
    ///
    /// - Parameter now: the time in seconds of a clock that never goes back.
    /// - Returns: the number since the last line if the next line is due; nil otherwise.
    func add(at now: Double) -> Int? {
        state.withLock { state in
            state.count += 1
            guard now >= state.nextLine else { return nil }
            defer { state = State(nextLine: now + 60) }
            return state.count
        }
    }
}

/// A time in seconds that never goes back, for differences.
enum MonotonicTime {
    private static let start = ContinuousClock.now

    static func now() -> Double {
        start.duration(to: .now) / .seconds(1)
    }
}
