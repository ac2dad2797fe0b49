/// The time since a fixed moment, on a clock that nobody can set and that runs while the machine sleeps.
package struct SteadyTime: Sendable {
    /// Returns the time since the moment.
    package let now: @Sendable () -> Duration

    package init(now: @escaping @Sendable () -> Duration) { self.now = now }

    /// - Parameter clock: the clock that measures the time.
    package init(_ clock: any Clock<Duration>) {
        func reading<C: Clock<Duration>>(_ clock: C) -> @Sendable () -> Duration {
            let origin = clock.now
            return { origin.duration(to: clock.now) }
        }
        now = reading(clock)
    }
}
