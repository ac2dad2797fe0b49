internal import VaultBase
package import VaultStorage
internal import VaultUnlock

// The end of a session, and another vault key.
extension Session {
    /// Forgets the vault key and the tokens. The account can be opened again. A refresh that is under way still stores
    /// its result.
    public func lock() async { await lock(.locked, reason: .requested) }

    /// - Parameters:
    ///   - event: `locked` or `loggedOut`, for the listeners, unless the session was already over.
    ///   - reason: the reason for the listeners.
    func lock(_ event: SessionUpdate.Event, reason: SessionUpdate.Reason, error: VaultError? = nil) async {
        guard end(event, reason: reason, error: error) else { return }
        // With `replaced`, another login takes this session's place in this process only. The agent keeps the session.
        await agent?.leave(locking: reason != .replaced)
    }

    /// - Returns: false if the session was already over.
    func end(_ event: SessionUpdate.Event, reason: SessionUpdate.Reason, error: VaultError?) -> Bool {
        guard vaultKey != nil else { return false }
        (vaultKey, proofKey, agentTicket) = (nil, nil, nil)
        accounts.forgetWaitingRenewal(of: id, upTo: waitingRenewal)
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
        guard vaultKey != nil else { return }
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

    // MARK: - A new vault key

    /// Runs `body` while it gives the account a new vault key, and goes on with the new one.
    func replacingVaultKey(
        _ body: (_ old: VaultKey) async throws -> ReplacedVaultKey
    ) async throws -> ReplacedVaultKey {
        let old = try openVaultKey()
        if agent != nil { throw Self.vaultKeyIsKeptByAgent }
        guard !isReplacingVaultKey else { throw Self.isBeingReplaced }
        isReplacingVaultKey = true
        defer { isReplacingVaultKey = false }
        let replaced: ReplacedVaultKey
        do { replaced = try await body(old) } catch { throw VaultError.converting(error) }
        // A session that was locked meanwhile must not keep the key.
        if vaultKey != nil { vaultKey = replaced.vaultKey }
        // A renewal that began with the old vault key fails. The next one must not wait for its result.
        _ = await refreshing?.task.result
        return replaced
    }

    /// Returns the error for the caller. If another program replaced the vault key, it locks the session.
    ///
    /// - Parameter used: the vault key that the call had; nil for the present one.
    package func ended(by error: any Error, using used: VaultKey? = nil) async -> any Error {
        guard let used = used ?? vaultKey else { return VaultError.converting(error) }
        let error = await accounts.explained(error, used, of: id)
        guard let reason = error as? VaultError, reason.isOfReplacedVaultKey, let present = vaultKey else {
            return error
        }
        // Perhaps this session replaces it, and the call had the old one.
        guard !isReplacingVaultKey, present === used,
            (try? await VaultKeyRecord(store: accounts.store, account: id).require(present)) == nil
        else { return Self.isBeingReplaced }
        await lock(.locked, reason: .vaultKeyReplaced, error: reason)
        live.withLock { $0.end(reason) }
        return reason
    }

    private static let vaultKeyIsKeptByAgent = VaultError(
        .configurationInvalid,
        "The agent keeps the vault key of this session. Log in without the agent to replace the vault key.")

    private static let isBeingReplaced = VaultError(
        .busy, "The vault key is being replaced. Try again.")
}
