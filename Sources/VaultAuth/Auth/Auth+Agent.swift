public import VaultStorage
internal import VaultUnlock

// Sessions of accounts that an agent holds open for several programs.
extension Auth {
    /// Opens an account through the agent, without a secret. Somebody has logged in at the agent before.
    ///
    /// The vault key and the refresh token stay in the agent. The session works as after ``login(_:with:)``. Only
    /// ``Session/refreshToken()`` and ``setTokens(access:refresh:expiresIn:subject:)`` need a login in this process.
    /// ``Session/setPIN(_:skipsPINRule:)`` needs ``Session/reauthenticate(with:)`` first. If you lock the session or
    /// log out, it is locked for all programs.
    ///
    /// - Throws: ``VaultError`` with code `notLoggedIn` if no agent runs or if it does not hold the account: show the
    ///   login. `cancelled` if the person did not allow it: stop. `accountNotFound`: register. `storeUnreadable`: try
    ///   again.
    @discardableResult
    public func attach(_ id: AccountID) async throws -> Session {
        try await attach(VaultError.converting { try await accounts.account(id) })
    }

    /// As ``attach(_:)``, for an account by one of its names.
    ///
    /// - Parameter userID: the subject, an alias, the e-mail address or the preferred user name.
    /// - Throws: as ``attach(_:)``; also `accountAmbiguous`: name one of ``VaultError/accounts``.
    @discardableResult
    public func attach(userID: String) async throws -> Session {
        try await attach(VaultError.converting { try await accounts.find(userID, issuer: issuerOfAccounts) })
    }

    private func attach(_ account: Account) async throws -> Session {
        let opening = current.beginOpening()
        defer { current.end(opening) }
        let (session, follow) = try await opener.attach(account)
        try await current.open(session, since: opening)
        follow()
        return session
    }

    /// Opens an account with the vault key that another program opened.
    ///
    /// - Parameters:
    ///   - contact: what the servers have said to that program.
    ///   - hasSecret: whether a person has just given a secret of the account in this program.
    /// - Throws: ``VaultError`` with code `notLoggedIn` if the account has another vault key now (log in again), or
    ///   `accountNotFound`.
    package func adopt(
        _ id: AccountID, vaultKey: VaultKey, contact: SessionContact, hasSecret: Bool = false
    ) async throws -> Session {
        try await adopted(id, vaultKey: vaultKey, contact: contact, hasSecret: hasSecret).session
    }

    func adopted(
        _ id: AccountID, vaultKey: VaultKey, contact: SessionContact, hasSecret: Bool
    ) async throws -> (session: Session, backend: LocalSession) {
        let opening = current.beginOpening()
        defer { current.end(opening) }
        let opened = try await opener.adopt(id, vaultKey: vaultKey, contact: contact, hasSecret: hasSecret)
        try await current.open(opened.session, since: opening)
        accounts.askLaterQuestions(of: id)
        return opened
    }
}
