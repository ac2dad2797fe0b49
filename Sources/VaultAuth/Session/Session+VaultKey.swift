public import VaultStorage
public import VaultUnlock

/// The result of a new vault key.
public struct VaultKeyReplacement: Sendable {
    /// The unlock methods that no longer open the account. Offer the person to add them again.
    public let endedKeyslots: [KeyslotSummary]
    /// Whether the provider issued another refresh token, so that the old one is dead. If it did not, somebody who
    /// knows the old one still gets access tokens with it. A new registration ends it.
    public let isOldTokenReplaced: Bool
    /// The reason why no token was renewed; nil if it was. The vault key was replaced all the same.
    public let tokenError: VaultError?

    /// Makes a result for a ``SessionBackend``.
    ///
    /// - Parameters:
    ///   - endedKeyslots: the unlock methods that no longer open the account.
    ///   - isOldTokenReplaced: whether the provider issued another refresh token.
    ///   - tokenError: the reason why no token was renewed; nil if it was.
    public init(endedKeyslots: [KeyslotSummary], isOldTokenReplaced: Bool, tokenError: VaultError? = nil) {
        self.endedKeyslots = endedKeyslots
        self.isOldTokenReplaced = isOldTokenReplaced
        self.tokenError = tokenError
    }
}

// A new vault key for an open account.
extension Session {
    /// Gives the account a new vault key, and seals all its items and tokens under it.
    ///
    /// Somebody who opened a copy of the store once has the vault key, and reads every later copy with it, whatever the
    /// password is by then. Call this after a notice that says ``AccountNotice/mayBeRight``.
    ///
    /// The keyslot that `method` opens is kept, and gets a new key at the key service. All other unlock methods
    /// end, as their keyslots hold the old vault key. Every other session of the account, in the agent and in other
    /// programs, locks at its next write or renewal. This session goes on. Afterwards the provider is asked for another
    /// refresh token.
    ///
    /// If the program is killed meanwhile, the account is as before, or has its new vault key and the one unlock
    /// method.
    ///
    /// - Parameter method: the unlock method to keep: the password, a PIN, or hardware that uses the key service.
    /// - Throws: ``VaultError`` with the codes of opening with an ``UnlockMethod``. Also `configurationInvalid` if the
    ///   agent holds the session or the unlock method cannot be kept, `secretRequired` for the keyring of the desktop,
    ///   which asks nothing, `deviceRevoked` (register again), `busy` (try again), or `storeUnreadable` (free disk
    ///   space). Then nothing was changed.
    public func replaceVaultKey(keeping method: UnlockMethod) async throws -> VaultKeyReplacement {
        try requireOpen()
        return try await backend.replaceVaultKey(keeping: method)
    }
}

extension Auth {
    /// As ``Session/replaceVaultKey(keeping:)``, for an account that is not open. The secret is asked for once.
    ///
    /// - Returns: the session; nil if the account did not open afterwards. The error of the replacement says why.
    package func replaceVaultKey(
        of account: Account, keeping method: UnlockMethod
    ) async throws -> (session: Session?, replacement: VaultKeyReplacement) {
        let replaced = try await accounts.replaceVaultKey(of: account, keeping: method)
        return await finished(replaced) {
            try await adopted(account.id, vaultKey: replaced.vaultKey, contact: .confirmed, hasSecret: true)
        }
    }

    /// Moves an account without a key service to the key service of the settings. The secret is asked for once.
    ///
    /// - Returns: the session, which nobody is logged in to; nil if the account did not open afterwards. The error of
    ///   the replacement says why.
    package func moveToKeyService(
        _ account: Account, with method: UnlockMethod
    ) async throws -> (session: Session?, replacement: VaultKeyReplacement) {
        let replaced = try await accounts.moveToKeyService(account, with: method)
        return await finished(replaced) {
            try await opener.adopt(account.id, vaultKey: replaced.vaultKey, contact: .confirmed, hasSecret: true)
        }
    }

    private func finished(
        _ replaced: ReplacedVaultKey, opening open: () async throws -> (session: Session, backend: LocalSession)
    ) async -> (session: Session?, replacement: VaultKeyReplacement) {
        do {
            let (session, backend) = try await open()
            return (session, await backend.finished(replaced))
        } catch {
            let ended = replaced.endedKeyslots.map(KeyslotSummary.init(ended:))
            let failure = VaultError.converting(error) as? VaultError
            return (nil, VaultKeyReplacement(endedKeyslots: ended, isOldTokenReplaced: false, tokenError: failure))
        }
    }
}
