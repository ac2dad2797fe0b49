/// A clock that runs also while the machine sleeps, reduced to what the agent needs of it.
package struct SteadyClock: Sendable {
    /// The time since a moment that does not change.
    let now: @Sendable () -> Duration
    /// Waits until ``now`` is at least a time.
    let sleep: @Sendable (_ until: Duration) async throws -> Void

    package init<C: Clock<Duration>>(_ clock: C) {
        let origin = clock.now
        now = { origin.duration(to: clock.now) }
        sleep = { try await clock.sleep(until: origin.advanced(by: $0), tolerance: nil) }
    }
}
