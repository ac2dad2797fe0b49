/// The clock of a store, as the check-ins of its servers have seen it. A key that a wrong clock erases never comes
/// back. So old keys are erased only while this clock is steady.
///
/// A store cannot tell a clock that was set from a long time without a server: both look like a jump. After a jump,
/// erasing waits so long that somebody notices a wrong clock, because no guess of the protocol's version 2 succeeds if
/// a clock is five minutes off. A locked key stays locked meanwhile, so the wait costs nothing.
package struct StoreClock: Sendable, Hashable {
    /// The longest time between two check-ins that does not count as a jump, in seconds.
    package static let longestGap: Int64 = 24 * 3600
    /// The largest difference between two right clocks, in seconds.
    package static let tolerance: Int64 = 300
    /// The time after a jump in which nothing is erased, in seconds. A weekend is shorter.
    package static let waitingTime: Int64 = 72 * 3600

    /// The time of the last check-in, in seconds since 1970; 0 for a new store.
    package var checkedInAt: Int64
    /// The time of the last jump, in seconds since 1970; 0 for none.
    package var steadySince: Int64

    /// Makes a clock from its stored parts.
    package init(checkedInAt: Int64 = 0, steadySince: Int64 = 0) {
        self.checkedInAt = checkedInAt
        self.steadySince = steadySince
    }

    /// Notes a check-in. A store in SQL does the same in its own statement.
    ///
    /// - Parameters:
    ///   - time: the time in seconds since 1970.
    ///   - isClockSet: whether the server knows of a jump.
    package mutating func checkIn(at time: Int64, isClockSet: Bool) {
        let gap = time - checkedInAt
        if isClockSet || checkedInAt != 0 && !(-Self.tolerance...Self.longestGap).contains(gap) { steadySince = time }
        checkedInAt = time
    }

    /// Refuses to erase keys by an uncertain clock. Call it with the state after a check-in.
    ///
    /// - Parameter now: the server's time in seconds since 1970.
    /// - Throws: ``KeyServiceServerError`` with code `clockUncertain`.
    package func requireSteady(at now: Int64) throws {
        // A damaged time must not trap.
        let (difference, isHuge) = now.subtractingReportingOverflow(checkedInAt)
        guard !isHuge, (-Self.tolerance...Self.tolerance).contains(difference) else {
            throw KeyServiceServerError(
                .clockUncertain,
                "The clocks of the server and of the database are \(difference.magnitude) seconds apart.",
                remedy: .checkClock)
        }
        let (age, isOld) = now.subtractingReportingOverflow(steadySince)
        guard isOld || age >= Self.waitingTime else {
            let hours = (Self.waitingTime - max(0, age) + 3599) / 3600
            throw KeyServiceServerError(
                .clockUncertain,
                """
                The time has jumped, because the clock was set, or because no server ran for over a day. If the \
                clock does not jump again, erasing continues in \(hours == 1 ? "1 hour" : "\(hours) hours").
                """, remedy: .checkClock)
        }
    }
}

/// The detector of a clock that was set while the server runs. It compares the clock with another one that nobody can
/// set.
///
/// It compares with the first values of a day, so that a clock that goes wrong in many small steps shows as well.
struct ClockJumps {
    private static let day = Duration.seconds(24 * 3600)

    private var first: (time: Int64, instant: ContinuousClock.Instant)?
    /// Whether there was a jump that no store knows of yet.
    private(set) var isUntold = false

    /// Compares both clocks with their earlier values.
    ///
    /// - Parameters:
    ///   - time: the time in seconds since 1970.
    ///   - instant: the same moment on the other clock.
    /// - Returns: whether a check-in has to tell of a jump.
    mutating func look(at time: Int64, _ instant: ContinuousClock.Instant) -> Bool {
        guard let first else {
            first = (time, instant)
            return isUntold
        }
        let passed = first.instant.duration(to: instant)
        let seconds = passed.components.seconds
        let (difference, isHuge) = time.subtractingReportingOverflow(first.time)
        let tolerance = StoreClock.tolerance
        let hasJumped = isHuge || !(seconds - tolerance...seconds + tolerance).contains(difference)
        if hasJumped { isUntold = true }
        // After a jump, the clock is compared with its new values.
        if hasJumped || passed >= Self.day { self.first = (time, instant) }
        return isUntold
    }

    /// Notes that a store knows of all jumps.
    mutating func told() { isUntold = false }
}
