internal import KeyServiceCore

/// A time in seconds that never goes back, for differences.
enum MonotonicTime {
    private static let start = ContinuousClock.now

    static func now() -> Double {
        start.duration(to: .now) / .seconds(1)
    }
}
