#if PKCS11
    import Synchronization

    /// A clock on which all time that is waited for has passed when it rings.
    final class HandClock: Clock {
        struct Instant: InstantProtocol {
            var offset = Duration.zero
            func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
            func duration(to other: Instant) -> Duration { other.offset - offset }
            static func < (first: Instant, second: Instant) -> Bool { first.offset < second.offset }
        }

        private let waiting = Mutex<(hasRung: Bool, sleepers: [AsyncStream<Void>.Continuation])>((false, []))
        var now: Instant { Instant() }
        var minimumResolution: Duration { .zero }

        func sleep(until deadline: Instant, tolerance: Duration?) async throws {
            let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
            waiting.withLock { state in
                if state.hasRung { continuation.finish() } else { state.sleepers.append(continuation) }
            }
            for await _ in stream {}
            try Task.checkCancellation()
        }

        func ring() {
            waiting.withLock { state in
                state.hasRung = true
                for sleeper in state.sleepers { sleeper.finish() }
            }
        }
    }
#endif
