internal import VaultBackground
internal import VaultStorage

/// The timeouts that lock the open account, one for each reason.
actor SessionTimeouts {
    private var timeouts: [SessionUpdate.Reason: BackgroundTimeout] = [:]

    /// Takes the place of a timeout that was enabled for the same reason.
    func enable(_ reason: SessionUpdate.Reason, _ make: @Sendable () -> BackgroundTimeout) async {
        await disable(reason)
        timeouts[reason] = make()
    }

    /// What the timeouts listen to, the background timeout first.
    func status() async -> [MonitorStatus] {
        await (timeouts[.backgroundTimeout]?.status() ?? []) + (timeouts[.idle]?.status() ?? [])
    }

    /// When this returns no handler runs any more, unless it was the handler that called.
    func disable(_ reason: SessionUpdate.Reason) async {
        await timeouts.removeValue(forKey: reason)?.disable()
    }
}
