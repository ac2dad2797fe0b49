/// A clock that also runs while the machine sleeps, with only the functions that the limits of sessions need.
package struct SteadyClock: Sendable {
    /// Returns the time since a fixed moment.
    package let now: @Sendable () -> Duration
    /// Waits until ``now`` has reached a time.
    package let sleep: @Sendable (_ until: Duration) async throws -> Void

    package init<C: Clock<Duration>>(_ clock: C) {
        let origin = clock.now
        now = { origin.duration(to: clock.now) }
        sleep = { try await clock.sleep(until: origin.advanced(by: $0), tolerance: nil) }
    }
}
