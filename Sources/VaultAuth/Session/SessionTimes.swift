/// The times at which a session must be locked, as times of a `SteadyClock`.
package struct SessionTimes: Sendable {
    /// The longest time without use; nil for no limit.
    package var idle: Duration?
    /// The longest time in any case; nil for no limit.
    package var lifetime: Duration?
    /// The longest time without the network; nil for no limit.
    package var offline: Duration?
    private let began: Duration
    private var lastUse: Duration

    /// - Parameters:
    ///   - idle: the longest time without use; nil for no limit.
    ///   - lifetime: the longest time in any case; nil for no limit.
    ///   - now: the time at which the session begins.
    package init(idle: Duration?, lifetime: Duration?, now: Duration) {
        self.idle = idle
        self.lifetime = lifetime
        began = now
        lastUse = now
    }

    /// Notes that somebody used the session.
    package mutating func use(now: Duration) { lastUse = now }

    /// Returns the time without use that is left; nil for no limit.
    package func idleLeft(now: Duration) -> Duration? { idle.map { max(.zero, lastUse + $0 - now) } }

    /// Returns the time that is left in any case; nil for no limit.
    package func lifetimeLeft(now: Duration) -> Duration? { lifetime.map { max(.zero, began + $0 - now) } }

    /// Returns the time of the next check; nil if there is no limit.
    ///
    /// - Parameter isOffline: as for ``overdue(now:isOffline:)``.
    package func end(isOffline: Bool) -> Duration? {
        [idle.map { lastUse + $0 }, lifetime.map { began + $0 }, isOffline ? offline.map { began + $0 } : nil]
            .compactMap(\.self).min()
    }

    /// Returns the reason why the session must be locked now; nil if it may go on.
    ///
    /// - Parameter isOffline: whether the time without the network counts.
    package func overdue(now: Duration, isOffline: Bool) -> SessionUpdate.Reason? {
        if lifetimeLeft(now: now) == .zero { return .lifetime }
        if isOffline, let offline, now >= began + offline { return .forbidden }
        return idleLeft(now: now) == .zero ? .idle : nil
    }
}
