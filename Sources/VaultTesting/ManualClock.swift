public import Foundation
public import VaultBase

/// A clock that stands still until a test moves it.
public final class ManualClock: WallClock {
    private let time: Lock<Date>

    /// - Parameter now: the time at the start.
    public init(_ now: Date = Date(timeIntervalSince1970: 1_800_000_000)) {
        time = Lock(now)
    }

    /// The time that the clock shows now.
    public var now: Date { time.withLock { $0 } }

    /// Moves the clock forward.
    public func advance(by seconds: TimeInterval) {
        time.withLock { $0 += seconds }
    }
}
