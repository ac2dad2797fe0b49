package import OpenIDConnect
internal import VaultHTTP
public import VaultStorage
internal import VaultUnlock

// Sessions of accounts that an agent holds open for several programs.
extension Auth {
    /// Opens an account through the agent, without a secret. Somebody has logged in at the agent before.
    ///
    /// The vault key and the refresh token stay in the agent. The session works as after ``login(_:with:)``. Only
    /// ``Session/refreshToken()`` and ``setTokens(access:refresh:expiresIn:subject:)`` need a login in this process.
    /// ``Session/setPIN(_:skipsPINRule:)`` needs ``Session/reauthenticate(with:)`` first. If you lock the session or log
    /// out, it is locked for all programs.
    ///
    /// - Throws: ``VaultError`` with code `notLoggedIn` if no agent runs or if it does not hold the account: log in, or
    ///   show the login, as no agent holds the account's session. `cancelled` if the person did not allow it: stop. `accountNotFound`:
    ///   register. `storeUnreadable`: try again.
    @discardableResult
    public func attach(_ id: AccountID) async throws -> Session {
        try await attach(converting { try await accounts.account(id) })
    }

    /// As ``attach(_:)``, for an account by one of its names.
    ///
    /// - Parameter userID: the subject, an alias, the e-mail address or the preferred user name.
    /// - Throws: as ``attach(_:)``; also `accountAmbiguous`: name one of ``VaultError/accounts``.
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
                source: source, transport: transport, updates: current.updates,
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

    /// Opens an account with the vault key that another program opened.
    ///
    /// - Parameter hasSecret: whether a person has just given a secret of the account in this program.
    /// - Throws: ``VaultError`` with code `notLoggedIn` if the account has another vault key now (log in again), or
    ///   `accountNotFound`.
    package func adopt(
        _ id: AccountID, vaultKey: VaultKey, isOffline: Bool, hasSecret: Bool = false
    ) async throws -> Session {
        let opening = current.beginOpening()
        defer { current.end(opening) }
        return try await converting {
            let account = try await accounts.account(id)
            try accounts.requireAllowedServers(of: account)
            try await accounts.requireCurrent(vaultKey, of: account, as: account)
            let source = issuers.source(of: account)
            let session = Session(
                id: id, vaultKey: vaultKey, accounts: accounts, issuer: try issuers.issuer(source), source: source,
                transport: transport, updates: current.updates,
                state: SessionState(.loggedIn, isOffline ? .offline(wasConfirmed: false) : .confirmed),
                hasSecret: hasSecret)
            try await current.open(session, since: opening)
            accounts.askLaterQuestions(of: id)
            return session
        }
    }

    /// The key that a session's tokens are bound to.
    package func proofKey(of session: Session) async throws -> DPoPKey? { try await session.dpopKey() }
}

extension VaultError {
    package static func noAgent(_ account: Account) -> VaultError {
        VaultError(
            .notLoggedIn, "\(account.displayName) is not logged in.", detail: .sessionClosed,
            value: account.displayName)
    }
}
