internal import VaultBase
public import VaultStorage

// The end of a session.
extension Session {
    /// Forgets the vault key and the tokens. The account can be opened again. A refresh that is under way still stores
    /// its result.
    public func lock() async { await lock(.locked, reason: .requested) }

    /// - Parameters:
    ///   - event: `locked` or `loggedOut`, for the listeners, unless the session was already over.
    package func lock(
        _ event: SessionUpdate.Event, reason: SessionUpdate.Reason, error: VaultError? = nil
    ) async {
        guard end(event, reason: reason, error: error) else { return }
        // Another login takes this session's place, or the program stops: this process only. The agent keeps the session.
        if ![.replaced, .programStops].contains(reason) { await backend.lockForAll() }
    }

    /// Ends the session for a reason that later calls tell, too.
    package func end(_ event: SessionUpdate.Event, _ reason: SessionUpdate.Reason, because error: VaultError) async {
        guard isOpen else { return }
        await lock(event, reason: reason, error: error)
        live.withLock { $0.end(error) }
    }

    /// - Returns: false if the session was already over.
    func end(_ event: SessionUpdate.Event, reason: SessionUpdate.Reason, error: VaultError?) -> Bool {
        guard isOpen else { return false }
        proofKey = nil
        backend.end()
        limits?.end()
        let refusal = live.withLock { live in
            defer { live.end() }
            return live.refusal
        }
        // After a refusal the listeners already know that the session is over.
        if refusal == nil { updates.send(.init(event, id, reason: reason, error: error)) }
        return true
    }

    /// Takes over an event of the session in the agent.
    func follow(_ update: SessionUpdate) {
        guard isOpen else { return }
        switch update.event {
        case .locked: _ = end(.locked, reason: update.reason ?? .requested, error: update.error)
        case .loggedOut where update.reason == .refused:
            let error =
                update.error
                ?? VaultError(.refreshTokenExpired, "The identity provider refused the account. Register again.")
            proofKey = nil
            live.withLock { $0.refuse(error) }
            updates.send(update)
        case .loggedOut: _ = end(.loggedOut, reason: update.reason ?? .requested, error: update.error)
        case .refreshed:
            // The provider may no longer accept the old token.
            proofKey = nil
            live.withLock { $0.forgetToken() }
            updates.send(update)
        case .refreshFailed:
            if update.error?.isProviderOutage == true { goOffline() }
            updates.send(update)
        case .loggedIn:
            // Somebody has logged in again, so a refused session goes on.
            proofKey = nil
            live.withLock { $0.resume() }
            updates.send(update)
        default: break
        }
    }

    /// Logs out the person of this session, and asks the provider to revoke the refresh token (RFC 7009) for every
    /// program that has it. Nobody else is logged out: after another person's login, this session is over, and the call
    /// throws.
    ///
    /// If the provider does not revoke it, the sealed refresh token stays: the person can log in and try again.
    ///
    /// - Returns: nil if the provider revoked it. Otherwise the reason why it did not. The session is over in either
    ///   case.
    /// - Throws: ``VaultError`` with code `notLoggedIn` if the session was over already (log in again), or
    ///   `storeUnreadable` or `busy` (try again). After an error a session that the agent holds goes on, and any other
    ///   session is over.
    public func logoutEverywhere() async throws -> VaultError? {
        do {
            let failure = try await backend.logOutEverywhere()
            await lock(.loggedOut, reason: .everywhere)
            return failure
        } catch {
            throw VaultError.converting(error)
        }
    }
}
