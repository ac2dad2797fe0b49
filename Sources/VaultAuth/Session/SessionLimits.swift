internal import VaultLocks
internal import VaultStorage

/// The policy's limits for a session of this process: the longest time without use, and the longest time in any case.
final class SessionLimits: Sendable {
    private let times: Lock<SessionTimes>
    private let clock: SteadyClock
    /// Whether the app's own idle timeout runs. It is as strict, and calls the app's handler.
    private let hasIdleTimeout: @Sendable () -> Bool
    private let waiting = Lock<Task<Void, Never>?>(nil)

    /// - Parameters:
    ///   - policy: the policy of the app and the machine.
    ///   - clock: measures the times.
    ///   - hasIdleTimeout: whether the app's own idle timeout runs.
    /// - Returns: nil if the policy has no limit.
    init?(_ policy: VaultPolicy, clock: any Clock<Duration>, hasIdleTimeout: @escaping @Sendable () -> Bool) {
        guard policy.maximumIdleMinutes != nil || policy.maximumSessionHours != nil else { return nil }
        self.clock = SteadyClock(clock)
        self.hasIdleTimeout = hasIdleTimeout
        times = Lock(
            SessionTimes(
                idle: policy.longestIdleTime, lifetime: policy.longestSession, now: self.clock.now()))
    }

    /// Notes a use of the session, or an activity of the person.
    ///
    /// - Returns: false if the time is over. Then the session must not be used, even if its lock is late.
    @discardableResult
    func use() -> Bool {
        let now = clock.now()
        return times.withLock { times in
            guard overdue(times, now) == nil else { return false }
            times.use(now: now)
            return true
        }
    }

    /// Calls `lock` when the time is over, unless ``end()`` is called before.
    func begin(_ lock: @escaping @Sendable (SessionUpdate.Reason) async -> Void) {
        let task = Task { [self] in
            while let end = times.withLock({ $0.end }) {
                guard (try? await clock.sleep(end)) != nil else { return }
                let now = clock.now()
                if let reason = times.withLock({ overdue($0, now) }) { return await lock(reason) }
                // Now the app's timeout counts the time without activity. This limit looks again after another such time.
                times.withLock { if $0.overdue(now: now) == .idle { $0.use(now: now) } }
            }
        }
        waiting.withLock { $0 = task }
    }

    /// Stops waiting, because the session is over.
    func end() { waiting.withLock { $0.take() }?.cancel() }

    private func overdue(_ times: SessionTimes, _ now: Duration) -> SessionUpdate.Reason? {
        let reason = times.overdue(now: now)
        return reason == .idle && hasIdleTimeout() ? nil : reason
    }
}

extension VaultPolicy {
    /// The longest time without use; nil for no limit.
    var longestIdleTime: Duration? { maximumIdleMinutes.map { .seconds($0 * 60) } }

    /// The longest time of a session in any case; nil for no limit.
    var longestSession: Duration? { maximumSessionHours.map { .seconds($0 * 3600) } }
}
