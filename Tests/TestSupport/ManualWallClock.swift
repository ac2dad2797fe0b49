package import Foundation
internal import VaultBase

/// A clock that stands still until a test moves it. As `ManualClock` of VaultTesting, for tests of the targets below.
package final class ManualWallClock: WallClock {
    private let time: Lock<Date>

    package init(_ now: Date = Date(timeIntervalSince1970: 1_800_000_000)) { time = Lock(now) }

    package var now: Date { time.withLock { $0 } }

    package func advance(by seconds: TimeInterval) { time.withLock { $0 += seconds } }
}
