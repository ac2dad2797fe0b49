package import OpenIDConnect
internal import VaultHTTP
public import VaultStorage

// Sessions that an agent holds open for several programs.
extension Auth {
    /// Opens an account through the agent, without a secret: somebody has logged in there before.
    ///
    /// The vault key and the refresh token stay in the agent. The session works as after ``login(_:with:)``. Only
    /// ``Session/refreshToken()``, ``setTokens(access:refresh:expiresIn:subject:)`` and ``logoutEverywhere()`` need a
    /// login in this process. If you lock the session, it is locked for all programs.
    ///
    /// - Throws: ``VaultError``: `notLoggedIn` when no agent runs, or when it does not hold the account open: log in, or
    ///   have the person run `vault login`. `accountNotFound`, `storeUnreadable`, `cancelled` when the person did not
    ///   allow it.
    @discardableResult
    public func attach(_ id: AccountID) async throws -> Session {
        try await attach(converting { try await accounts.account(id) })
    }

    /// As ``attach(_:)``, for an account by one of its names.
    ///
    /// - Parameter userID: the subject, an alias, the e-mail address or the preferred user name.
    /// - Throws: as ``attach(_:)``, and ``VaultError`` with code `accountAmbiguous`.
    @discardableResult
    public func attach(userID: String) async throws -> Session {
        try await attach(converting { try await accounts.find(userID, issuer: issuerOfAccounts) })
    }

    private func attach(_ account: Account) async throws -> Session {
        guard let agent else { throw VaultError.noAgent(account) }
        let opening = current.beginOpening()
        defer { current.end(opening) }
        return try await converting {
            let source = issuers.source(of: account)
            try accounts.requireAllowedServers(of: account)
            let attached = try await agent.attach(account.id)
            let phase: SessionState.Phase = attached.refusal.map { .refused($0) } ?? .loggedIn
            let session = Session(
                id: account.id, vaultKey: attached.vaultKey, accounts: accounts, issuer: try issuers.issuer(source),
                source: source, updates: current.updates,
                state: SessionState(phase, attached.isOffline ? .offline(wasConfirmed: false) : .confirmed),
                agent: attached.link)
            try await current.open(session, since: opening)
            let updates = attached.link.updates()
            Task { [weak session] in
                for await update in updates { await session?.follow(update) }
            }
            return session
        }
    }

    /// Opens an account with its vault key, as another program opened it.
    ///
    /// - Throws: ``VaultError``: `busy` when the key is not the account's key any more, `accountNotFound`.
    package func adopt(_ id: AccountID, vaultKey: VaultKey, isOffline: Bool) async throws -> Session {
        let opening = current.beginOpening()
        defer { current.end(opening) }
        return try await converting {
            let account = try await accounts.account(id)
            try accounts.requireAllowedServers(of: account)
            try await accounts.requireCurrent(vaultKey, of: account, as: account)
            let source = issuers.source(of: account)
            let session = Session(
                id: id, vaultKey: vaultKey, accounts: accounts, issuer: try issuers.issuer(source), source: source,
                updates: current.updates,
                state: SessionState(.loggedIn, isOffline ? .offline(wasConfirmed: false) : .confirmed))
            try await current.open(session, since: opening)
            return session
        }
    }

    /// The key that a session's tokens are bound to.
    package func proofKey(of session: Session) async throws -> DPoPKey? { try await session.dpopKey() }
}

extension VaultError {
    package static func noAgent(_ account: Account) -> VaultError {
        VaultError(
            .notLoggedIn, "\(account.displayName) is not logged in. Log in: vault login --user \(account.displayName)")
    }
}
