internal import VaultBase
internal import VaultHTTP
package import VaultStorage
internal import VaultUnlock

// The policy's limits for the sessions that this process opened itself. An agent limits the sessions that it holds.
extension Auth {
    /// Returns the limits for a new session.
    ///
    /// - Parameters:
    ///   - account: the account as it was opened.
    ///   - way: the way in that opened it; nil after a registration.
    func limits(of account: Account, openedWith way: Keyslot?) -> SessionLimits {
        SessionLimits(accounts.obeyed, opening(of: account, way, under: accounts.policy), clock: accounts.timer) {
            [weak self] in
            self?.idleTimeout.withLock { $0 }
        }
    }

    /// Returns what a later policy may forbid about an account that was opened just now. See ``SessionOpening``.
    package func opening(of account: Account, _ way: Keyslot?, under policy: VaultPolicy?) -> SessionOpening {
        SessionOpening(of: account, way: way, under: policy, at: accounts.clock.now)
    }

    /// Locks a session when its limits are reached.
    func limit(_ session: Session) {
        // Both weak: the session holds its limits, and the login holds its session.
        session.limits?.begin(
            isOffline: { [weak session] in session?.isConfirmed == false },
            { [weak session, weak current] reason in
                guard let session else { return }
                guard let current else { return await session.lock(.locked, reason: reason) }
                await current.lock(session, reason)
            })
    }
}
