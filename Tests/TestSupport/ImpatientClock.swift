/// A clock that ends every wait at once, without letting time pass.
package struct ImpatientClock: Clock {
    package init() {}

    package var now: ContinuousClock.Instant { ContinuousClock.now }
    package var minimumResolution: Duration { .zero }
    package func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws {
        try Task.checkCancellation()
        await Task.yield()
    }
}
