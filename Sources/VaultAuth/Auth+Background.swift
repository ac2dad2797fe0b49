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
    ///   - monitor: tells when the app goes to the background and when it comes back: ``StopSignalMonitor`` for a program in
    ///     a terminal, ``AppBackgroundMonitor``, `LogindMonitor` of the product VaultLogind, or the app's own.
    ///   - handler: called after an account was locked for that, once for each stay in the background.
    public func enableBackgroundTimeout(
        duration: Duration, monitor: any BackgroundMonitor = StopSignalMonitor(),
        handler: @escaping @Sendable () async -> Void
    ) async {
        await enableBackgroundTimeout(
            duration: duration, monitor: monitor, clock: ContinuousClock(), handler: handler)
    }

    /// As ``enableBackgroundTimeout(duration:monitor:handler:)``, counted on any clock.
    package func enableBackgroundTimeout(
        duration: Duration, monitor: any BackgroundMonitor, clock: any Clock<Duration>,
        handler: @escaping @Sendable () async -> Void
    ) async {
        await disableBackgroundTimeout()
        backgroundTimeout = BackgroundTimeout(
            duration: duration, monitor: monitor, clock: clock,
            isLoggedIn: { [weak self] in await self?.hasSomethingToLock ?? false },
            lock: { [weak self] in await self?.lock(.backgroundTimeout) }, handler: handler)
    }

    /// Ends the background timeout. When this returns no handler runs any more, unless it was the handler that called.
    public func disableBackgroundTimeout() async {
        let timeout = backgroundTimeout
        backgroundTimeout = nil
        await timeout?.disable()
    }
}
