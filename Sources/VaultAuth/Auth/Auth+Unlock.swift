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
    ///   opening with an ``UnlockMethod`` throw. If the secret was right and the provider did not refuse the account, it is open
    ///   all the same: ``session`` tells.
    @discardableResult
    public func login(_ account: AccountID, with method: UnlockMethod) async throws -> Session {
        try await login(stored(account), with: method)
    }

    /// As ``login(_:with:)``, for an account by one of its names.
    ///
    /// - Parameters:
    ///   - userID: the subject, an alias, the e-mail address or the preferred user name.
    ///   - method: the secret or hardware that opens the account.
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
            session.goOffline()
        }
        return session
    }

    /// Opens an account and asks the provider for nothing yet.
    ///
    /// - Throws: ``VaultError``: what opening with an ``UnlockMethod`` throws, and `notLoggedIn` when it was locked meanwhile.
    @discardableResult
    public func unlock(_ account: AccountID, with method: UnlockMethod) async throws -> Session {
        try await unlock(stored(account), with: method)
    }

    /// As ``AuthProtocol/unlock(_:with:)``, for an account by one of its names.
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

    /// - Parameter isPending: whether it is to count as a login only when the provider has confirmed it.
    func unlock(_ account: Account, with method: UnlockMethod, isPending: Bool) async throws -> Session {
        let opening = current.beginOpening()
        defer { current.end(opening) }
        do {
            // Discovery takes its time while Argon2id takes its own. Whether it fails is seen when it is needed.
            let source = issuers.source(of: account)
            let issuer = try issuers.issuer(source)
            Task { await issuer.warmUp() }
            let (opened, isOffline) = try await opened(account, method)
            let session = Session(
                id: account.id, vaultKey: opened.vaultKey, accounts: accounts, issuer: issuer, source: source,
                updates: current.updates,
                state: SessionState(
                    isPending ? .pending : .loggedIn, isOffline ? .offline(wasConfirmed: false) : .none,
                    wrongGuesses: opened.wrongGuesses))
            try await current.open(session, since: opening, isPending: isPending)
            return session
        } catch {
            throw VaultError.converting(error)
        }
    }

    /// Logs in the account that the person has just signed in to.
    ///
    /// - Parameter opening: when that began. If somebody has locked since, the account is locked again at once: the token
    ///   is stored, so this is no failure.
    func open(
        _ token: RefreshToken, vaultKey: VaultKey, since opening: CurrentLogin.Opening
    ) async throws -> Session {
        let source = issuers.source(of: token)
        let session = Session(
            id: token.account, vaultKey: vaultKey, accounts: accounts, issuer: try issuers.issuer(source),
            source: source, updates: current.updates, state: SessionState(.loggedIn, .confirmed))
        try await current.open(session)
        if current.hasLocked(since: opening) { await current.lock(.requested) }
        return session
    }

    /// The open account, and whether it was opened without the key service because that cannot be reached.
    private func opened(_ account: Account, _ method: UnlockMethod) async throws -> (OpenedAccount, isOffline: Bool) {
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
