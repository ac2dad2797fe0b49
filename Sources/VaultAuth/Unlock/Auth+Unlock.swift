internal import VaultCrypto
public import VaultStorage

// Opening accounts in other ways than with the password.
extension Auth {
    /// Logs in again, in any way that the account has: one call to the key service, and a fresh access token from the
    /// provider.
    ///
    /// When the key service or the provider cannot be reached, an account that opens without the network is open
    /// afterwards all the same: see ``Session/isOffline``.
    ///
    /// - Throws: ``VaultError``: `accountNotFound`, `wrongSecret`, `keyLocked`, `keyServiceUnavailable`, `notLoggedIn`
    ///   when it was locked meanwhile, and what ``Session/accessToken(forceRefresh:minimumValidity:)`` and
    ///   ``Accounts/open(_:with:)`` throw. If the secret was right and the provider did not refuse the account, it is open
    ///   all the same: ``session`` tells.
    @discardableResult
    public func login(_ account: AccountID, with method: UnlockMethod) async throws -> Session {
        try await login(stored(account), with: method)
    }

    /// As ``login(_:with:)``, for an account by one of its names.
    ///
    /// - Parameter userID: the subject, an alias, the e-mail address or the preferred user name.
    /// - Throws: as ``login(_:with:)``, and ``VaultError`` with code `accountAmbiguous`.
    @discardableResult
    public func login(userID: String, with method: UnlockMethod) async throws -> Session {
        try await login(named(userID), with: method)
    }

    private func login(_ account: Account, with method: UnlockMethod) async throws -> Session {
        let session = try await unlock(account, with: method)
        do {
            _ = try await session.accessToken(forceRefresh: true)
        } catch let error as VaultError where error.isProviderOutage && accounts.opensOffline(account) {
            session.setOffline()
        }
        return session
    }

    /// Opens an account and asks the provider for nothing yet.
    ///
    /// - Throws: ``VaultError``: what ``Accounts/open(_:with:)`` throws, and `notLoggedIn` when it was locked meanwhile.
    @discardableResult
    public func unlock(_ account: AccountID, with method: UnlockMethod) async throws -> Session {
        try await unlock(stored(account), with: method)
    }

    /// As ``unlock(_:with:)``, for an account by one of its names.
    @discardableResult
    public func unlock(userID: String, with method: UnlockMethod) async throws -> Session {
        try await unlock(named(userID), with: method)
    }

    private func named(_ userID: String) async throws -> Account {
        try await converting { try await accounts.find(userID, issuer: issuerOfAccounts) }
    }

    private func stored(_ id: AccountID) async throws -> Account {
        try await converting { try await accounts.account(id) }
    }

    /// As ``unlock(_:with:)``, for an account that was read already.
    @discardableResult
    public func unlock(_ account: Account, with method: UnlockMethod) async throws -> Session {
        try await unlock(account, with: method, isPending: false)
    }

    /// The open account, and whether it was opened without the key service because that cannot be reached.
    func opened(_ account: Account, _ method: UnlockMethod) async throws -> (OpenedAccount, isOffline: Bool) {
        do {
            return (try await accounts.opened(account, with: method), method.kind == .offline)
        } catch let error as VaultError where error.code == .keyServiceUnavailable {
            guard method.kind == .password, let password = method.typedSecret, account.keyslot(.offline) != nil,
                accounts.policy.allows(.offline)
            else { throw error }
            return (try await accounts.opened(account, with: .offline(password)), true)
        }
    }
}
