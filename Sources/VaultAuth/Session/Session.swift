package import Foundation
internal import OpenIDConnect
internal import VaultHTTP
internal import VaultLocks
public import VaultStorage

/// An open account: its vault key in guarded memory, and its live tokens. If the agent holds the account open, the vault
/// key and the refresh token stay in the agent, and the calls are the same: see ``Auth/attach(userID:)``.
public actor Session {
    /// Whose session this is.
    public nonisolated let id: AccountID
    private var vaultKey: VaultKey?
    private var refreshing: (request: RefreshTransaction.Request, task: Task<AccessToken, any Error>)?
    private var proofKey: DPoPKey?
    private nonisolated let live: Lock<SessionState>
    let accounts: Accounts
    private let issuer: any TokenIssuer
    nonisolated let source: IssuerSource
    private let updates: SessionUpdates
    /// The agent that holds the account open; nil for a session of this process.
    nonisolated let agent: (any AgentLink)?

    init(
        id: AccountID, vaultKey: VaultKey, accounts: Accounts, issuer: any TokenIssuer, source: IssuerSource,
        updates: SessionUpdates, state: SessionState, agent: (any AgentLink)? = nil
    ) {
        live = Lock(state)
        self.id = id
        self.vaultKey = vaultKey
        self.accounts = accounts
        self.issuer = issuer
        self.source = source
        self.updates = updates
        self.agent = agent
    }

    private nonisolated var clock: any WallClock { accounts.clock }

    /// Whether the vault key is still in memory.
    public nonisolated var isOpen: Bool { live.withLock { $0.isOpen } }

    /// Whether the provider has confirmed the account since it was opened.
    public nonisolated var isConfirmed: Bool { live.withLock { $0.isConfirmed } }

    /// Whether it counts as a login: it is open, the provider did not refuse it, and it does not wait to be confirmed.
    nonisolated var isLogin: Bool { live.withLock { $0.isLogin } }

    /// Why the session hands out no tokens any more: the provider refused the account. What is sealed in the account can
    /// be read until the session is locked (``openVaultKey()``). Nil for any other session.
    public nonisolated var refusal: VaultError? { live.withLock { $0.refusal } }

    /// Ends the wait for the provider: it counts as a login from now on.
    nonisolated func begin() { live.withLock { $0.begin() } }

    /// Whether the account is open without the provider: it was opened without the network, or the provider could not be
    /// reached when it was asked last. What is stored is at hand, and the access token as long as it is valid. The first
    /// token that the provider renews makes it a full session.
    public nonisolated var isOffline: Bool { live.withLock { $0.isOffline } }

    /// What the person has to be told of wrong guesses at this way in that were not made here; nil when
    /// there were none.
    public nonisolated var wrongGuesses: AccountNotice? { live.withLock { $0.wrongGuesses } }

    /// Tells that somebody has logged in. An account that was locked meanwhile is told as locked last.
    func announce() {
        if vaultKey != nil { updates.send(.init(.loggedIn, id)) }
    }

    /// Notes that it goes on without the provider.
    nonisolated func goOffline() { live.withLock { $0.goOffline() } }

    /// The vault key, for sealing items of an app's own. If the agent holds the session, the key asks the agent.
    ///
    /// - Throws: ``VaultError`` with code `notLoggedIn` when the session was locked.
    public func openVaultKey() throws -> VaultKey {
        guard let vaultKey else { throw refusal ?? VaultError(.notLoggedIn, "The session is locked. Log in again.") }
        return vaultKey
    }

    /// The items of an app's own in the account.
    public nonisolated var items: SessionItems {
        SessionItems(
            LocalItems(accounts: accounts, id: id, isOpen: { self.isOpen }, vaultKey: { try await self.openVaultKey() })
        )
    }

    // MARK: - Tokens

    /// A valid access token: from memory, from the store, or else fresh from the provider.
    ///
    /// Callers that come while a refresh is under way wait for that one. Cancelling one of them does not cancel it.
    /// When the provider refuses the refresh token for good, the session hands out no token any more, see ``refusal``.
    ///
    /// - Parameters:
    ///   - forceRefresh: ask the provider also when the token at hand is still valid.
    ///   - minimumValidity: how long the token has to be valid at least. 60 seconds.
    /// - Throws: ``VaultError``: `notLoggedIn` when the session was locked, `refreshTokenExpired` or
    ///   `refreshInterrupted` (register again), `identityProviderUnavailable` (try again later).
    public nonisolated func accessToken(
        forceRefresh: Bool = false, minimumValidity: Duration = .seconds(60)
    ) async throws -> AccessToken {
        if !forceRefresh, let token = tokenAtHand(validFor: minimumValidity) { return token }
        return try await accessToken(.init(force: forceRefresh, minimumValidity: minimumValidity, at: clock.now))
    }

    /// A new token, as another program asked for it. One that the provider issued after that is new enough.
    ///
    /// - Parameters:
    ///   - moment: when the other program asked.
    ///   - minimumValidity: how long the token has to be valid at least.
    /// - Throws: as ``accessToken(forceRefresh:minimumValidity:)``.
    package func accessToken(forcedAt moment: Date, minimumValidity: Duration) async throws -> AccessToken {
        try await accessToken(.init(force: true, minimumValidity: minimumValidity, at: moment))
    }

    /// The token in memory, when it is good enough: nobody has to wait for it.
    package nonisolated func tokenAtHand(validFor minimumValidity: Duration) -> AccessToken? {
        guard let token = live.withLock({ $0.token }), token.isValid(for: minimumValidity, at: clock.now) else {
            return nil
        }
        return token
    }

    /// Another access token than one that a resource server refused with 401, although it was valid by its expiry.
    ///
    /// However many callers come with the same refused token, the provider is asked once.
    ///
    /// - Throws: as ``accessToken(forceRefresh:minimumValidity:)``.
    public func accessToken(
        replacing refused: AccessToken, minimumValidity: Duration = .seconds(60)
    ) async throws -> AccessToken {
        try await accessToken(.init(minimumValidity: minimumValidity, rejected: refused.value, at: clock.now))
    }

    private func accessToken(_ request: RefreshTransaction.Request) async throws -> AccessToken {
        while let refreshing, !refreshing.request.covers(request) { _ = await refreshing.task.result }
        let vaultKey = try acceptedVaultKey()
        if !request.force, let token = live.withLock({ $0.token }), request.accepts(token, now: request.at) {
            return token
        }
        let task = refreshing?.task ?? startRefresh(vaultKey, request)
        do {
            return try await task.value
        } catch {
            throw VaultError.converting(error)
        }
    }

    private func startRefresh(
        _ vaultKey: VaultKey, _ request: RefreshTransaction.Request
    ) -> Task<AccessToken, any Error> {
        let transaction = RefreshTransaction(
            id: id, vaultKey: vaultKey, store: accounts.store, unstored: accounts.unstored, issuer: issuer,
            source: source, isWanted: { [weak self] in self?.isOpen ?? false }, clock: clock,
            logger: accounts.logger)
        let task = Task {
            let result: Result<(token: AccessToken, isNew: Bool), any Error>
            do {
                if let agent {
                    result = .success(try await agent.accessToken(request))
                } else {
                    result = .success(try await transaction.run(request))
                }
            } catch {
                result = .failure(error)
            }
            return try await finishRefresh(result)
        }
        refreshing = (request, task)
        return task
    }

    private func finishRefresh(
        _ result: Result<(token: AccessToken, isNew: Bool), any Error>
    ) async throws -> AccessToken {
        refreshing = nil
        do {
            let (token, isNew) = try result.get()
            guard vaultKey != nil else {
                throw VaultError(.notLoggedIn, "The session was locked meanwhile. Log in again.")
            }
            live.withLock { $0.use(token, isNew: isNew) }
            // Signing in anew, in another program, binds the account's tokens to another key.
            proofKey = nil
            if isNew { updates.send(.init(.refreshed, id)) }
            return token
        } catch {
            if accounts.unstored.holds(id) { live.withLock { $0.forgetToken() } }
            throw await failed(error)
        }
    }

    /// Tells of a failed refresh, and ends the session when the provider refused for good.
    private func failed(_ error: any Error) async -> any Error {
        guard let error = VaultError.converting(error) as? VaultError, vaultKey != nil else { return error }
        let reason: SessionUpdate.Reason
        switch error.code {
        case .refreshTokenExpired, .refreshInterrupted:
            proofKey = nil
            live.withLock { $0.refuse(error) }
            updates.send(.init(.loggedOut, id, reason: .refused, error: error))
            return error
        // What another program did meanwhile: nothing is left to go on with.
        case .notLoggedIn: reason = agent == nil ? .everywhere : .requested
        case .accountNotFound: reason = .deleted
        default:
            if error.isProviderOutage { goOffline() }
            updates.send(.init(.refreshFailed, id, error: error))
            return error
        }
        await lock(.loggedOut, reason: reason, error: error)
        live.withLock { $0.end(error) }
        return error
    }

    /// The refresh token as it is stored now.
    ///
    /// - Throws: ``VaultError`` with code `notLoggedIn` (also when none is stored any more) or `storeCorrupt`.
    public func refreshToken() async throws -> RefreshToken {
        _ = try acceptedVaultKey()
        return try await storedRefreshToken()
    }

    /// As ``refreshToken()``, also when the provider refused it.
    func storedRefreshToken() async throws -> RefreshToken {
        let vaultKey = try openVaultKey()
        if agent != nil { throw Self.keptByAgent }
        do {
            return try await accounts.refreshToken(of: id, vaultKey: vaultKey)
        } catch {
            throw VaultError.converting(error)
        }
    }

    private static let keptByAgent = VaultError(
        .configurationInvalid,
        "The agent holds this session and keeps its refresh token. Log in without the agent for that.")

    /// The vault key of a session that the provider did not refuse.
    private func acceptedVaultKey() throws -> VaultKey {
        if let refusal { throw refusal }
        return try openVaultKey()
    }

    /// The key that the tokens are bound to (RFC 9449); nil when they are not.
    func dpopKey() async throws -> DPoPKey? {
        if let proofKey, vaultKey != nil { return proofKey }
        let key: DPoPKey?
        if let agent { key = try await agent.proofKey() } else { key = try await refreshToken().credential.dpopKey() }
        // Locked meanwhile, it must not keep the key.
        if vaultKey != nil { proofKey = key }
        return key
    }

    /// Stores what an app got elsewhere in place of the credential and access token here: both, or neither.
    func replace(_ credential: Credential, _ accessToken: AccessToken) async throws {
        let vaultKey = try openVaultKey()
        if agent != nil { throw Self.keptByAgent }
        let items = TokenItems(store: accounts.store, id: id, vaultKey: vaultKey)
        let changes = [
            try await items.put(credential), try await items.put(accessToken),
            .noteTokens(scope: accessToken.scope, accessTokenExpiresAt: accessToken.expiresAt), .endRefresh,
        ]
        try await accounts.withLock(on: id) { [accounts, id, source] _ in
            // Whoever logged out meanwhile does not want them back.
            guard isOpen else { throw VaultError(.notLoggedIn, "The session was locked meanwhile. Log in again.") }
            guard let account = try await accounts.store.account(id) else {
                throw VaultError(
                    .accountNotFound, "The account was deleted meanwhile. To use it again, register again.")
            }
            // Another program may have registered the account again: under its vault key these bytes would not open.
            try await accounts.requireCurrent(vaultKey, of: account, as: account)
            guard source.isOf(account) else {
                throw VaultError(
                    .notLoggedIn,
                    "\(account.displayName) signs in in another way or with another client now. Log in again.")
            }
            try await accounts.store.apply(changes, to: id)
        }
        proofKey = nil
        guard self.vaultKey != nil else { return }
        let wasRefused = live.withLock { $0.accept(accessToken) }
        updates.send(.init(wasRefused ? .loggedIn : .refreshed, id))
    }

    // MARK: - The end

    /// Forgets the vault key and the tokens: the account can be opened again. A refresh under way still stores what it
    /// gets.
    public func lock() async { await lock(.locked, reason: .requested) }

    /// - Parameters:
    ///   - event: `locked` or `loggedOut`; told to the listeners, unless the session was over already.
    ///   - reason: why.
    func lock(_ event: SessionUpdate.Event, reason: SessionUpdate.Reason, error: VaultError? = nil) async {
        guard end(event, reason: reason, error: error) else { return }
        // Another login takes the place of this one in this process. The agent goes on with it.
        await agent?.leave(locking: reason != .replaced)
    }

    /// - Returns: false when the session was over already.
    private func end(_ event: SessionUpdate.Event, reason: SessionUpdate.Reason, error: VaultError?) -> Bool {
        guard vaultKey != nil else { return false }
        (vaultKey, proofKey) = (nil, nil)
        let refusal = live.withLock { live in
            defer { live.end() }
            return live.refusal
        }
        // That it is over was told when the provider refused it.
        if refusal == nil { updates.send(.init(event, id, reason: reason, error: error)) }
        return true
    }

    /// Takes over what happened to the session in the agent.
    func follow(_ update: SessionUpdate) {
        guard vaultKey != nil else { return }
        switch update.event {
        case .locked: _ = end(.locked, reason: update.reason ?? .requested, error: update.error)
        case .loggedOut where update.reason == .refused:
            let error = update.error ?? VaultError(.refreshTokenExpired, "The identity provider refused the account.")
            proofKey = nil
            live.withLock { $0.refuse(error) }
            updates.send(update)
        case .loggedOut: _ = end(.loggedOut, reason: update.reason ?? .requested, error: update.error)
        case .refreshed:
            // The provider may take the old token no longer.
            proofKey = nil
            live.withLock { $0.forgetToken() }
            updates.send(update)
        case .refreshFailed:
            if update.error?.isProviderOutage == true { goOffline() }
            updates.send(update)
        case .loggedIn:
            // Somebody has logged in again: a session that was refused goes on.
            proofKey = nil
            live.withLock { $0.resume() }
            updates.send(update)
        default: break
        }
    }

    // MARK: - What could not be stored

    /// Whether this process holds a renewed token that could not be stored. The next ``accessToken(forceRefresh:minimumValidity:)``
    /// stores it first.
    public var holdsUnstoredToken: Bool { accounts.unstored.holds(id) }
}
