public import VaultBackground

// Locking the account of somebody who stays away, as in Trifork Identity Manager.
extension Auth {
    /// Locks the open account when the app was in the background for too long. It takes the place of a timeout that was
    /// enabled before.
    ///
    /// Coming back in time cancels the count. A process that cannot run meanwhile (it is stopped, or the machine sleeps)
    /// locks first of all when it goes on.
    ///
    /// - Parameters:
    ///   - duration: how long the app may stay in the background. Time that the machine sleeps counts.
    ///   - monitors: tell when the app goes to the background and when it comes back: ``StopSignalMonitor`` for a program in
    ///     a terminal, ``AppBackgroundMonitor``, `LogindMonitor` of the product VaultLogind, or the app's own. The app is in
    ///     the background while one of them says so. ``monitorStatus()`` tells whether each of them works.
    ///   - clock: counts the time.
    ///   - handler: called after an account was locked for that, once for each stay in the background.
    public func enableBackgroundTimeout(
        duration: Duration, monitors: [any BackgroundMonitor], clock: any Clock<Duration>,
        handler: @escaping @Sendable () async -> Void
    ) async {
        await timeouts.enable(.backgroundTimeout) { timeout(.backgroundTimeout, duration, monitors, clock, handler) }
    }

    /// What the background timeout and the idle timeout listen to, and what keeps a monitor from it. Empty when neither
    /// is enabled.
    public func monitorStatus() async -> [MonitorStatus] {
        await timeouts.status()
    }

    /// Ends the background timeout. When this returns no handler runs any more, unless it was the handler that called.
    public func disableBackgroundTimeout() async { await timeouts.disable(.backgroundTimeout) }

    /// Locks the open account after a time without activity. Call ``noteActivity()`` for each key, click or card. A second
    /// call replaces the first idle timeout. The background timeout stays.
    ///
    /// - Parameters:
    ///   - duration: how long nobody may do anything. Time that the machine sleeps counts.
    ///   - clock: counts the time.
    ///   - handler: called after an account was locked for that.
    public func enableIdleTimeout(
        _ duration: Duration, clock: any Clock<Duration>, handler: @escaping @Sendable () async -> Void
    ) async {
        await timeouts.enable(.idle) {
            idle.noteActivity()
            return timeout(.idle, duration, [idle], clock, handler)
        }
    }

    /// Says that the person did something, so that the time of the idle timeout begins again.
    public func noteActivity() { idle.noteActivity() }

    /// Ends the idle timeout. When this returns no handler runs any more, unless it was the handler that called.
    public func disableIdleTimeout() async { await timeouts.disable(.idle) }

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
