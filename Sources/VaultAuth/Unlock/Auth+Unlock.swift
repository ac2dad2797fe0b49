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
    /// - Throws: as ``login(userID:password:)``, and what ``Accounts/open(_:with:)`` throws.
    @discardableResult
    public func login(userID: String, with method: UnlockMethod) async throws -> Session {
        let account = try await converting { try await accounts.find(userID, issuer: issuerOfAccounts) }
        let session = try await unlock(account, with: method)
        do {
            _ = try await session.accessToken(forceRefresh: true)
        } catch let error as VaultError where error.isOutage && accounts.opensOffline(account) {
            session.setOffline()
        }
        return session
    }

    /// Opens an account and asks the provider for nothing yet.
    @discardableResult
    public func unlock(userID: String, with method: UnlockMethod) async throws -> Session {
        let account = try await converting { try await accounts.find(userID, issuer: issuerOfAccounts) }
        return try await unlock(account, with: method)
    }

    /// As ``unlock(userID:with:)``, for an account that was found already.
    @discardableResult
    public func unlock(_ account: Account, with method: UnlockMethod) async throws -> Session {
        try await unlock(account, with: method, isPending: false)
    }

    /// The open account, and whether it was opened without the key service because that cannot be reached.
    func opened(_ account: Account, _ method: UnlockMethod) async throws -> (OpenedAccount, isOffline: Bool) {
        do {
            let isOffline = if case .offline = method { true } else { false }
            return (try await accounts.opened(account, with: method), isOffline)
        } catch let error as VaultError where error.code == .keyServiceUnavailable {
            guard case .password(let password) = method, account.keyslot(.offline) != nil,
                accounts.policy.allows(.offline)
            else { throw error }
            return (try await accounts.opened(account, with: .offline(password)), true)
        }
    }
}
