internal import VaultBase

/// A clock for waits that stands still until a test moves it. Sleepers wake up when it reaches their time.
public final class ManualContinuousClock: Clock {
    /// A time on the clock.
    public struct Instant: InstantProtocol {
        /// The distance from the clock's start.
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
    ///   - duration: the time to move the clock by.
    ///   - wakesSleepers: false for time in which the program cannot run, for example stopped. Sleepers then wake up
    ///     with the next move.
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

    /// Returns when a task sleeps on the clock.
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
                    // An earlier cancellation found no sleeper.
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
