/// A clock that nobody can set and that also runs while the machine sleeps, with only the functions that sessions need.
package struct SteadyClock: Sendable {
    /// Returns the time since a fixed moment.
    package let now: @Sendable () -> Duration
    /// Waits until ``now`` has reached a time.
    package let sleep: @Sendable (_ until: Duration) async throws -> Void
    /// Whether this is the clock of the machine, and not one that a test moves.
    package let isOfMachine: Bool

    package init(_ clock: any Clock<Duration>) {
        // Each use of a session asks for the time. Code for a clock whose type is only known at run time takes longer.
        if let clock = clock as? ContinuousClock { self.init(of: clock) } else { self.init(of: clock) }
    }

    @inline(__always)
    private init<C: Clock<Duration>>(of clock: C) {
        let origin = clock.now
        now = { origin.duration(to: clock.now) }
        isOfMachine = C.self == ContinuousClock.self
        sleep = { try await clock.sleep(until: origin.advanced(by: $0), tolerance: nil) }
    }

    private init(now: @escaping @Sendable () -> Duration, sleep: @escaping @Sendable (Duration) async throws -> Void) {
        self.now = now
        self.sleep = sleep
        isOfMachine = false
    }

    /// Returns a clock that shows the time of another one, for tests that move that one. Its waits stay the same.
    package func showing(_ now: @escaping @Sendable () -> Duration) -> SteadyClock {
        SteadyClock(now: now, sleep: sleep)
    }
}
