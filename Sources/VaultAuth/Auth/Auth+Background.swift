public import VaultBackground
internal import VaultBase
internal import VaultStorage
internal import VaultUnlock

// Locks the account of a person who is away, as Trifork Identity Manager does.
extension Auth {
    /// Locks the open account after the app was in the background for too long. Replaces an earlier background timeout.
    ///
    /// If the app comes back in time, the count ends. Sometimes the process cannot run meanwhile, because it is stopped
    /// or the machine sleeps. When it runs again, it locks before anything else.
    ///
    /// A person can log in while a monitor still reports the background. If the time is up already, the session stays
    /// open until a monitor reports the background again. If the time is not up yet, the session locks when it is up.
    ///
    /// - Parameters:
    ///   - duration: the longest time in the background. Time in which the machine sleeps counts. Zero locks as soon as
    ///     a monitor reports the background.
    ///   - monitors: tell when the app goes to the background and when it comes back. Use ``StopSignalMonitor`` for a
    ///     program in a terminal, ``AppBackgroundMonitor``, `LogindMonitor` of the product VaultLogind, or the app's
    ///     own. The app is in the background while any monitor says so. ``monitorStatus()`` tells whether each monitor
    ///     works.
    ///   - clock: measures the time.
    ///   - handler: called after this timeout locked an account, once for each stay in the background.
    public func enableBackgroundTimeout(
        duration: Duration, monitors: [any BackgroundMonitor], clock: any Clock<Duration>,
        handler: @escaping @Sendable () async -> Void
    ) async {
        await timeouts.enable(.backgroundTimeout) { timeout(.backgroundTimeout, duration, monitors, clock, handler) }
    }

    /// Returns the monitors of the background timeout and the idle timeout, and why a monitor does not work. Empty if
    /// neither timeout is enabled.
    public func monitorStatus() async -> [MonitorStatus] {
        await timeouts.status()
    }

    /// Ends the background timeout. No handler runs after this returns, unless the handler itself made the call.
    public func disableBackgroundTimeout() async { await timeouts.disable(.backgroundTimeout) }

    /// Locks the open account after a time without activity. Call ``noteActivity()`` for each key press, click or card.
    /// A second call replaces the first idle timeout. The background timeout stays.
    ///
    /// Each login counts as an activity. So you can enable the timeout before anybody logs in, and it stays enabled for
    /// each later person.
    ///
    /// A policy with `maximumIdleMinutes` locks an account also without this timeout. Then each use of the session, such
    /// as ``accessToken()``, counts as an activity, too.
    ///
    /// - Parameters:
    ///   - duration: the longest time without activity. Time in which the machine sleeps counts. If the policy allows
    ///     only a shorter time, that time counts.
    ///   - clock: measures the time.
    ///   - handler: called after this timeout locked an account.
    public func enableIdleTimeout(
        _ duration: Duration, clock: any Clock<Duration>, handler: @escaping @Sendable () async -> Void
    ) async {
        let allowed = min(duration, accounts.policy.longestIdleTime ?? duration)
        await timeouts.enable(.idle) {
            idle.noteActivity()
            return timeout(.idle, allowed, [idle], clock, handler)
        }
        opener.idleTimeout.withLock { $0 = allowed }
    }

    /// Starts the time of the idle timeout again. Call it when the person does something.
    public func noteActivity() {
        idle.noteActivity()
        session?.limits?.use()
    }

    /// Ends the idle timeout. No handler runs after this returns, unless the handler itself made the call. The policy's
    /// limit for the time without use stays.
    public func disableIdleTimeout() async {
        session?.limits?.use()
        opener.idleTimeout.withLock { $0 = nil }
        await timeouts.disable(.idle)
    }

    private func timeout(
        _ reason: SessionUpdate.Reason, _ duration: Duration, _ monitors: [any BackgroundMonitor],
        _ clock: any Clock<Duration>, _ handler: @escaping @Sendable () async -> Void
    ) -> BackgroundTimeout {
        BackgroundTimeout(
            duration: duration, monitors: monitors, clock: clock,
            isLoggedIn: { [current] in current.hasSomethingToLock }, lock: { [current] in await current.lock(reason) },
            handler: handler)
    }
}

/// The timeouts that lock the open account, one for each reason.
actor SessionTimeouts {
    private var timeouts: [SessionUpdate.Reason: BackgroundTimeout] = [:]

    /// Enables a timeout. Replaces an earlier one with the same reason.
    func enable(_ reason: SessionUpdate.Reason, _ make: @Sendable () -> BackgroundTimeout) async {
        await disable(reason)
        timeouts[reason] = make()
    }

    /// Returns the monitors of the timeouts. Those of the background timeout come first.
    func status() async -> [MonitorStatus] {
        await (timeouts[.backgroundTimeout]?.status() ?? []) + (timeouts[.idle]?.status() ?? [])
    }

    /// Ends a timeout. No handler runs after this returns, unless the handler itself made the call.
    func disable(_ reason: SessionUpdate.Reason) async {
        await timeouts.removeValue(forKey: reason)?.disable()
    }
}
