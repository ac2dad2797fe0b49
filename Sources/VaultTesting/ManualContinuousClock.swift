internal import VaultLocks

/// A clock for waiting that stands still until it is moved: whoever sleeps on it wakes up when it gets there.
public final class ManualContinuousClock: Clock {
    /// A time that the clock can show.
    public struct Instant: InstantProtocol {
        /// How far the clock had been moved.
        let offset: Duration

        /// Gives the time that is later by `duration`.
        public func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
        /// Gives the time from here to `other`; negative if `other` is earlier.
        public func duration(to other: Instant) -> Duration { other.offset - offset }
        /// Tells whether the left time is earlier.
        public static func < (left: Instant, right: Instant) -> Bool { left.offset < right.offset }
    }

    private struct Sleeper {
        let deadline: Instant
        let continuation: CheckedContinuation<Void, any Error>
    }

    private struct State {
        var now = Instant(offset: .zero)
        var sleepers: [Int: Sleeper] = [:]
        var nextID = 0
        var watchers: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Lock(State())

    /// Makes a clock that shows zero.
    public init() {}

    /// The time that the clock shows now.
    public var now: Instant { state.withLock { $0.now } }

    /// The smallest step of the clock: one nanosecond.
    public var minimumResolution: Duration { .nanoseconds(1) }

    /// Moves the clock forward.
    ///
    /// - Parameters:
    ///   - duration: how far to move it.
    ///   - wakesSleepers: false for time that passes while the program cannot run, as when it is stopped: whoever is
    ///     due wakes up with the next move only.
    public func advance(by duration: Duration, wakesSleepers: Bool = true) {
        let due = state.withLock { state -> [Sleeper] in
            state.now = state.now.advanced(by: duration)
            guard wakesSleepers else { return [] }
            let due = state.sleepers.filter { $0.value.deadline <= state.now }
            for id in due.keys { state.sleepers[id] = nil }
            return due.values.sorted { $0.deadline < $1.deadline }
        }
        for sleeper in due { sleeper.continuation.resume() }
    }

    /// Returns once somebody sleeps on the clock.
    public func waitForSleeper() async {
        await withCheckedContinuation { continuation in
            let isThere = state.withLock { state in
                if !state.sleepers.isEmpty { return true }
                state.watchers.append(continuation)
                return false
            }
            if isThere { continuation.resume() }
        }
    }

    /// Waits until the clock is moved to `deadline` or past it. It returns at once if the clock shows that already.
    ///
    /// - Parameters:
    ///   - deadline: the time to wake up.
    ///   - tolerance: counts for nothing.
    /// - Throws: `CancellationError` when the task is cancelled.
    public func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        let id = state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let (result, watchers) = state.withLock {
                    state -> (Result<Void, any Error>?, [CheckedContinuation<Void, Never>]) in
                    // A cancellation that came before this found no sleeper to wake.
                    if Task.isCancelled { return (.failure(CancellationError()), []) }
                    if deadline <= state.now { return (.success(()), []) }
                    state.sleepers[id] = Sleeper(deadline: deadline, continuation: continuation)
                    defer { state.watchers = [] }
                    return (nil, state.watchers)
                }
                for watcher in watchers { watcher.resume() }
                if let result { continuation.resume(with: result) }
            }
        } onCancel: {
            let sleeper = state.withLock { $0.sleepers.removeValue(forKey: id) }
            sleeper?.continuation.resume(throwing: CancellationError())
        }
    }
}
