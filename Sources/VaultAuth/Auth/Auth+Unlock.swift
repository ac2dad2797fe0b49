public import VaultStorage
public import VaultUnlock

// Opening accounts with other unlock methods than the password.
extension Auth {
    /// Logs in again with any unlock method that the account has. It takes one call to the key service, and the
    /// provider issues a new access token.
    ///
    /// If the key service or the provider cannot be reached, an account with an offline unlock method opens anyway: see
    /// ``Session/isOffline``.
    ///
    /// - Throws: ``VaultError`` with code `accountNotFound` (register), `notLoggedIn` if it was locked meanwhile (log
    ///   in again), the codes of opening with an ``UnlockMethod``, and those of
    ///   ``Session/accessToken(forceRefresh:minimumValidity:)``. If the secret was right and the provider gave no
    ///   token, the account is open in spite of the error: see ``VaultError/openedSession``. After any other error, the
    ///   earlier person stays logged in, so ``session`` is not this account's.
    @discardableResult
    public func login(_ account: AccountID, with method: UnlockMethod) async throws -> Session {
        try await login(stored(account), with: method)
    }

    /// As ``login(_:with:)``, for an account by one of its names.
    ///
    /// - Parameters:
    ///   - userID: the subject, an alias, the e-mail address or the preferred user name.
    ///   - method: the secret or hardware that opens the account.
    /// - Throws: as ``login(_:with:)``; also `accountAmbiguous`: name one of ``VaultError/accounts``.
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
        } catch let error as VaultError where session.isOpen {
            throw error.opening(session)
        }
        return session
    }

    /// Opens an account without a request to the provider.
    ///
    /// - Throws: ``VaultError`` with the codes of opening with an ``UnlockMethod``, and `notLoggedIn` if it was locked
    ///   meanwhile: log in again.
    @discardableResult
    public func unlock(_ account: AccountID, with method: UnlockMethod) async throws -> Session {
        try await unlock(stored(account), with: method)
    }

    /// As ``AuthProtocol/unlock(_:with:)``, for an account by one of its names.
    @discardableResult
    public func unlock(userID: String, with method: UnlockMethod) async throws -> Session {
        try await unlock(named(userID), with: method)
    }

    func named(_ userID: String) async throws -> Account {
        try await VaultError.converting { try await accounts.find(userID, issuer: issuerOfAccounts) }
    }

    func stored(_ id: AccountID) async throws -> Account {
        try await VaultError.converting { try await accounts.account(id) }
    }

    /// As ``unlock(_:with:)``, for an account that was already read.
    @discardableResult
    public func unlock(_ account: Account, with method: UnlockMethod) async throws -> Session {
        try await unlock(account, with: method, isPending: false)
    }

    /// - Parameter isPending: whether it counts as a login only after the provider has confirmed it.
    func unlock(_ account: Account, with method: UnlockMethod, isPending: Bool) async throws -> Session {
        let opening = current.beginOpening()
        defer { current.end(opening) }
        let session = try await opener.open(account, with: method, isPending: isPending)
        try await current.open(session, since: opening, isPending: isPending)
        limit(session)
        accounts.askLaterQuestions(of: account.id)
        return session
    }

    /// Logs in to the account of the person who has just signed in.
    ///
    /// - Parameters:
    ///   - hasSecret: whether a person has just given a secret of the account in this program.
    ///   - opening: the time when this began. If the account was locked since then, it is locked again at once. The
    ///     token is stored, so this is not an error.
    func open(
        _ token: SignInResult, vaultKey: VaultKey, hasSecret: Bool, since opening: CurrentLogin.Opening
    ) async throws -> Session {
        let session = try await opener.open(token, vaultKey: vaultKey, hasSecret: hasSecret)
        try await current.open(session)
        limit(session)
        if let accessToken = token.accessToken {
            accounts.claimKeysBeside(of: token.account, accessToken, vaultKey)
        }
        if current.hasLocked(since: opening) { await current.lock(.requested) }
        return session
    }

    /// Locks a session that this process opened itself when the policy's limits are reached. An agent limits the
    /// sessions that it holds.
    private func limit(_ session: Session) {
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
