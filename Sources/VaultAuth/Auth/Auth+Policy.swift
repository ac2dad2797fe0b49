// The policy's limits for the sessions that this process opened itself. An agent limits the sessions that it holds.
extension Auth {
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
