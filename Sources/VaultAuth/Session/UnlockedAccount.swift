internal import VaultBase
package import VaultStorage
package import VaultUnlock

/// A stored account with its vault key, for as long as its session is open. If another program gave the account a new
/// vault key, it locks the session.
package final class UnlockedAccount: Sendable {
    private struct State {
        /// The vault key; nil after the end.
        var vaultKey: VaultKey?
        /// Whether this session gives the account a new vault key now.
        var isReplacing = false
    }

    package let id: AccountID
    package let accounts: Accounts
    /// Whether the account had a key service when it was opened.
    private let hadKeyService: Bool
    private let state: Lock<State>
    /// The number of the last renewal of a keyslot that waited when the session began.
    private let waitingRenewal: Int
    private let owner = Lock<@Sendable () -> Session?>({ nil })

    package init(_ id: AccountID, vaultKey: VaultKey, accounts: Accounts, hasKeyService: Bool) {
        self.id = id
        self.accounts = accounts
        hadKeyService = hasKeyService
        waitingRenewal = accounts.lastWaitingRenewal
        state = Lock(State(vaultKey: vaultKey))
    }

    /// Takes the session. The session holds this account, so it is not held in return.
    package func begin(_ session: Session) { owner.withLock { $0 = { [weak session] in session } } }

    package var session: Session? { owner.withLock { $0 }() }

    /// Forgets the vault key.
    package func end() {
        state.withLock { $0.vaultKey = nil }
        accounts.forgetWaitingRenewal(of: id, upTo: waitingRenewal)
    }

    /// The vault key, without a use of the session; nil after the end.
    var presentKey: VaultKey? { state.withLock { $0.vaultKey } }

    /// Returns the vault key, and notes a use of the session.
    package func vaultKey() throws -> VaultKey {
        let session = session
        guard session?.isUsed() ?? false, let vaultKey = presentKey else {
            throw session?.refusal ?? VaultError(.notLoggedIn, "The session is locked. Log in again.")
        }
        return vaultKey
    }

    /// Throws if the session was locked during a call.
    @Sendable package func requireOpen() throws {
        guard presentKey != nil, session?.isUsed() ?? false else {
            throw VaultError(.notLoggedIn, "The session was locked meanwhile. Log in again.")
        }
    }

    /// Returns the stored account, for a new keyslot.
    ///
    /// - Throws: ``StoreError`` with code `corrupt` if somebody took the key service from the account while the session
    ///   was open: nobody would count the guesses at the new keyslot.
    func storedForNewKeyslot() async throws -> Account {
        let stored = try await accounts.account(id)
        guard stored.hasKeyService || !hadKeyService else {
            throw StoreError(
                .corrupt,
                "The key service of \(stored.displayName) was removed from the store. Nothing was changed. Restore the store from a backup."
            )
        }
        return stored
    }

    /// Lets the key service list the new keys, with an access token that was just issued.
    package func claimKeys(with token: AccessToken) {
        guard let vaultKey = presentKey else { return }
        accounts.claimKeysBeside(of: id, token, vaultKey)
    }

    // MARK: - Errors

    /// Runs `body`, and converts its error. Ends the session if the vault key was replaced, or if the owner revoked this
    /// device.
    @discardableResult
    package func converting<R>(_ body: () async throws -> R) async throws -> R {
        let used = presentKey
        do {
            return try await body()
        } catch {
            let error = await explained(error, using: used)
            guard (error as? VaultError)?.code == .deviceRevoked, let session else { throw error }
            throw await session.failed(error)
        }
    }

    /// Returns the error for the caller. If another program replaced the vault key, it locks the session.
    ///
    /// - Parameter used: the vault key that the call had; nil for the present one.
    package func explained(_ error: any Error, using used: VaultKey? = nil) async -> any Error {
        guard let used = used ?? presentKey else { return VaultError.converting(error) }
        let error = await accounts.explained(error, used, of: id)
        let (present, isReplacing) = state.withLock { ($0.vaultKey, $0.isReplacing) }
        guard let reason = error as? VaultError, reason.isOfReplacedVaultKey, let present else { return error }
        // Perhaps this session replaces it, and the call had the old one.
        guard !isReplacing, present === used,
            (try? await VaultKeyRecord(store: accounts.store, account: id).require(present)) == nil
        else { return Self.isBeingReplaced(reason) }
        await session?.end(.locked, .vaultKeyReplaced, because: reason)
        return reason
    }

    // MARK: - A new vault key

    /// Runs `body` while it gives the account a new vault key, and goes on with the new one.
    func replacingVaultKey(
        _ body: (_ old: VaultKey) async throws -> ReplacedVaultKey
    ) async throws -> ReplacedVaultKey {
        let old = try vaultKey()
        let isFree = state.withLock { state in
            defer { state.isReplacing = true }
            return !state.isReplacing
        }
        guard isFree else { throw Self.isBeingReplaced() }
        defer { state.withLock { $0.isReplacing = false } }
        let replaced: ReplacedVaultKey
        do { replaced = try await body(old) } catch { throw VaultError.converting(error) }
        // A session that was locked meanwhile must not keep the key.
        state.withLock { if $0.vaultKey != nil { $0.vaultKey = replaced.vaultKey } }
        // A renewal that began with the old vault key fails. The next one must not wait for its result.
        await session?.waitForRefresh()
        return replaced
    }

    /// - Parameter reason: the error of a call that had the old vault key.
    private static func isBeingReplaced(_ reason: VaultError? = nil) -> VaultError {
        VaultError(.busy, "The vault key is being replaced. Try again.", underlying: reason?.underlying)
    }
}
