import Foundation
import Testing

@testable import VaultUnlock

/// The time from which the days without the network count.
struct SeenClockTests {
    private let day = 86_400.0
    private let start = Date(timeIntervalSince1970: 1_800_000_000)

    @Test func `when the clock is set back, then time continues`() {
        var clock = SeenClock(now: start)
        clock.usedOffline(now: start + 10 * day)
        clock.usedOffline(now: start + 2 * day)
        #expect(clock.highest == start + 10 * day)
        clock.usedOffline(now: start + 5 * day)
        #expect(clock.highest == start + 13 * day)
    }

    @Test func `when the key service answers, then its time counts`() {
        var clock = SeenClock(now: start)
        clock.usedOffline(now: start + 3650 * day)
        clock.keyServiceAnswered(at: start + day, now: start + 3651 * day)
        #expect(clock.highest == start + day)
        // This machine's clock is corrected.
        clock.usedOffline(now: start + 2 * day)
        #expect(clock.highest == start + 2 * day)
    }

    @Test func `when the machine's clock runs ahead, then service time counts`() {
        var clock = SeenClock(now: start + 20 * day)
        clock.providerConfirmed(at: nil, now: start + 20 * day)
        clock.keyServiceAnswered(at: start, now: start + 20 * day)
        #expect(clock.onlineAt == start)
        clock.providerConfirmed(at: nil, now: start + 21 * day)
        #expect(clock.onlineAt == start + day && clock.highest == start + day)
        clock.providerConfirmed(at: start + 2 * day, now: start + 22 * day)
        #expect(clock.onlineAt == start + 2 * day)
    }

    @Test func `when a service's clock is ahead, then machine time counts`() {
        var clock = SeenClock(now: start)
        clock.keyServiceAnswered(at: start + 3650 * day, now: start)
        clock.providerConfirmed(at: nil, now: start)
        #expect(clock.onlineAt == start && clock.highest == start)
    }

    @Test func `when the clock is corrected, then confirmations are not backdated`() {
        var clock = SeenClock(now: start)
        clock.keyServiceAnswered(at: start, now: start + 20 * day)
        clock.providerConfirmed(at: nil, now: start + 20 * day)
        clock.providerConfirmed(at: nil, now: start + day)
        #expect(clock.onlineAt == start + day)
    }
}
