internal import VaultBackground
internal import VaultStorage

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
