internal import VaultBase

/// A clock whose waits end when the test rings it. The time of the wait has passed then.
package final class HandClock: Clock {
    package struct Instant: InstantProtocol {
        let offset: Duration
        package func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
        package func duration(to other: Instant) -> Duration { other.offset - offset }
        package static func < (first: Instant, second: Instant) -> Bool { first.offset < second.offset }
    }

    private struct State {
        var passed = Duration.zero
        var sleepers: [(until: Duration, continuation: AsyncStream<Void>.Continuation)] = []
    }
    private let state = Lock(State())

    package init() {}

    package var now: Instant { Instant(offset: .zero) }
    package var minimumResolution: Duration { .zero }

    package func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
        state.withLock { state in
            if deadline.offset <= state.passed {
                continuation.finish()
            } else {
                state.sleepers.append((deadline.offset, continuation))
            }
        }
        for await _ in stream {}
        try Task.checkCancellation()
    }

    /// - Parameter longest: the longest wait that ends. Longer waits go on.
    package func ring(longest: Duration = .seconds(1_000_000)) {
        state.withLock { state in
            state.passed = longest
            for sleeper in state.sleepers where sleeper.until <= longest { sleeper.continuation.finish() }
        }
    }
}
