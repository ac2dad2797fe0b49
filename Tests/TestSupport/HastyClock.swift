internal import VaultBase

/// A clock that ends every wait at once and remembers it. The time of the wait has passed then.
package final class HastyClock: Clock {
    package struct Instant: InstantProtocol {
        let offset: Duration
        package func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
        package func duration(to other: Instant) -> Duration { other.offset - offset }
        package static func < (first: Instant, second: Instant) -> Bool { first.offset < second.offset }
    }

    private let state = Lock<(now: Instant, waits: [Duration])>((Instant(offset: .zero), []))

    private let passed: @Sendable (Duration) -> Void

    /// - Parameter passed: is called at the end of each wait, with the time since the beginning.
    package init(passed: @escaping @Sendable (Duration) -> Void = { _ in }) { self.passed = passed }

    package var now: Instant { state.withLock { $0.now } }
    package var minimumResolution: Duration { .zero }
    /// The lengths of the waits, in order.
    package var waits: [Duration] { state.withLock { $0.waits } }

    package func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        try Task.checkCancellation()
        state.withLock { state in
            state.waits.append(state.now.duration(to: deadline))
            state.now = max(state.now, deadline)
        }
        passed(now.offset)
        await Task.yield()
    }
}
