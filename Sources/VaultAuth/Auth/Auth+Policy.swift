internal import VaultLocks
internal import VaultStorage

// The policy's limits for the sessions that this process opened itself. An agent limits the sessions that it holds.
extension Auth {
    /// Returns the limits for a new session; nil if the policy has none.
    func limits() -> SessionLimits? {
        SessionLimits(accounts.policy, clock: accounts.timer) { [weak self] in
            guard let self else { return false }
            return hasIdleTimeout.withLock { $0 }
        }
    }

    /// Locks a session when its limits are reached.
    func limit(_ session: Session) {
        session.limits?.begin { [weak session, current] reason in
            if let session { await current.lock(session, reason) }
        }
    }
}
