package import VaultStorage

/// The bounds of one open session under the policy in force: its times, and whether it may be open at all.
///
/// The agent and an app use this one type for the sessions that they hold. So a policy that changes while a session is
/// open counts for both alike.
package struct SessionBounds: Sendable {
    package private(set) var times: SessionTimes
    /// The limits that the session has without a policy; nil for no limit.
    private let ownIdle: Duration?
    private let ownLifetime: Duration?
    private let opening: SessionOpening
    /// The number of the policy that was taken over last; nil before the first one.
    package private(set) var number: Int?
    private var isForbidden = false

    /// - Parameters:
    ///   - idle: the longest time without use that was asked for; nil for no limit.
    ///   - lifetime: the longest time in any case that was asked for; nil for no limit.
    ///   - now: the time at which the session begins.
    package init(_ opening: SessionOpening, idle: Duration?, lifetime: Duration?, now: Duration) {
        self.opening = opening
        (ownIdle, ownLifetime) = (idle, lifetime)
        times = SessionTimes(idle: idle, lifetime: lifetime, now: now)
    }

    /// Takes over a policy, if it has changed.
    ///
    /// - Parameters:
    ///   - policy: the policy in force; nil for none.
    ///   - number: a number that changes with the policy.
    @discardableResult
    package mutating func obey(_ policy: VaultPolicy?, number: Int) -> Bool {
        guard self.number != number else { return false }
        self.number = number
        times.idle = [ownIdle, policy?.longestIdleTime].compactMap(\.self).min()
        times.lifetime = [ownLifetime, policy?.longestSession].compactMap(\.self).min()
        times.offline = policy.flatMap(opening.offlineTime)
        isForbidden = policy.map { !opening.isAllowed(by: $0) } ?? false
        return true
    }

    /// Notes that somebody used the session.
    package mutating func use(now: Duration) { times.use(now: now) }

    /// Returns the reason why the session must be locked now; nil if it may go on.
    ///
    /// - Parameter isOffline: whether the provider has not confirmed the account since it was opened. It counts only for
    ///   an account that was opened without the key service.
    package func overdue(now: Duration, isOffline: Bool) -> SessionUpdate.Reason? {
        isForbidden ? .forbidden : times.overdue(now: now, isOffline: isOffline)
    }
}
