package import Foundation
internal import OpenIDConnect
internal import VaultHTTP
internal import VaultLocks
public import VaultStorage

/// An open account, with its vault key in guarded memory and its tokens. If the agent holds the account open, the vault
/// key and the refresh token stay in the agent. The calls are the same: see ``Auth/attach(userID:)``.
public actor Session {
    /// The account of the session.
    public nonisolated let id: AccountID
    private var vaultKey: VaultKey?
    /// The number of the last renewal of a keyslot that waited when the session began.
    private let waitingRenewal: Int
    /// Whether this session gives the account a new vault key now.
    private var isReplacingVaultKey = false
    private var refreshing: (request: RefreshTransaction.Request, task: Task<AccessToken, any Error>)?
    private var proofKey: DPoPKey?
    private nonisolated let live: Lock<SessionState>
    let accounts: Accounts
    private let issuer: any TokenIssuer
    nonisolated let source: IssuerSource
    private let updates: SessionUpdates
    /// The agent that holds the account open; nil for a session of this process.
    nonisolated let agent: (any AgentLink)?
    /// The policy's limits; nil for a session that an agent holds.
    nonisolated let limits: SessionLimits?

    /// The transport for an app's own requests.
    nonisolated let transport: any HTTPTransport
    /// The times of the last secret and of the last proof that this device was not revoked.
    var proofs: SessionProofs
    /// The agent's proof that it got a secret from this program; nil for a session of this process.
    var agentTicket: [UInt8]?

    /// - Parameter hasSecret: whether a person has just given a secret of the account in this program.
    init(
        id: AccountID, vaultKey: VaultKey, accounts: Accounts, issuer: any TokenIssuer, source: IssuerSource,
        transport: any HTTPTransport, updates: SessionUpdates, state: SessionState, hasSecret: Bool = false,
        agent: (any AgentLink)? = nil, limits: SessionLimits? = nil
    ) {
        live = Lock(state)
        proofs = SessionProofs(at: accounts.steady.now(), hasSecret: hasSecret)
        self.id = id
        self.vaultKey = vaultKey
        waitingRenewal = accounts.lastWaitingRenewal
        self.accounts = accounts
        self.issuer = issuer
        self.source = source
        self.updates = updates
        self.agent = agent
        self.limits = limits
        self.transport = transport
    }

    deinit { limits?.end() }

    private nonisolated var clock: any WallClock { accounts.clock }

    /// Whether the vault key is still in memory.
    public nonisolated var isOpen: Bool { live.withLock { $0.isOpen } }

    /// Whether the provider has confirmed the account since it was opened.
    public nonisolated var isConfirmed: Bool { live.withLock { $0.isConfirmed } }

    /// Whether the session counts as a login: it is open, not refused, and does not wait for its confirmation.
    nonisolated var isLogin: Bool { live.withLock { $0.isLogin } }

    /// The provider's refusal of the account. The session then gives out no tokens, but the account's items can be read
    /// until the session is locked (``openVaultKey()``). Nil for any other session.
    public nonisolated var refusal: VaultError? { live.withLock { $0.refusal } }

    /// Ends the wait for the provider. From now on the session counts as a login.
    nonisolated func begin() { live.withLock { $0.begin() } }

    /// Whether the account is open without the provider: it was opened offline, or the provider could not be reached at
    /// the last try. The stored items can be read, and the access token works until it ends. The next token from the
    /// provider makes it a full session.
    public nonisolated var isOffline: Bool { live.withLock { $0.isOffline } }

    /// The notice for the person about wrong guesses at this way in that were not made here; nil if there were none.
    public nonisolated var wrongGuesses: AccountNotice? { live.withLock { $0.wrongGuesses } }

    /// Tells the listeners of the login. If the account was locked meanwhile, the last event is the lock.
    func announce() {
        if vaultKey != nil { updates.send(.init(.loggedIn, id)) }
    }

    /// Notes that the session goes on without the provider.
    nonisolated func goOffline() { live.withLock { $0.goOffline() } }

    /// Returns the vault key, for sealing an app's own items. If the agent holds the session, the key asks the agent.
    ///
    /// - Throws: ``VaultError`` with code `notLoggedIn` if the session was locked: log in again.
    public func openVaultKey() throws -> VaultKey {
        guard isUsed(), let vaultKey else {
            throw refusal ?? VaultError(.notLoggedIn, "The session is locked. Log in again.")
        }
        return vaultKey
    }

    /// Notes a use of the session for the policy's limits.
    ///
    /// - Returns: false if the session is over.
    private nonisolated func isUsed() -> Bool { isOpen && limits?.use() ?? true }

    /// The app's own items in the account.
    public nonisolated var items: SessionItems {
        SessionItems(
            LocalItems(
                accounts: accounts, id: id, isOpen: { self.isUsed() }, vaultKey: { try await self.openVaultKey() },
                explain: { await self.ended(by: $0, using: $1) }))
    }

    // MARK: - Tokens

    /// Returns a valid access token from memory, from the store, or from the provider.
    ///
    /// Calls during a refresh wait for that refresh. The cancellation of one caller does not cancel the refresh. If the
    /// provider refuses the refresh token for good, the session gives out no more tokens: see ``refusal``.
    ///
    /// - Parameters:
    ///   - forceRefresh: whether to ask the provider even if the present token is valid.
    ///   - minimumValidity: the least time for which the token must be valid. 60 seconds by default.
    /// - Throws: ``VaultError`` with one of these codes:
    ///   - `notLoggedIn`: the session was locked, also because the key service has not said for too long that this
    ///     device was not revoked. Log in again.
    ///   - `deviceRevoked`: the owner revoked this device, and the session has ended. Register again.
    ///   - `refreshTokenExpired`, `refreshInterrupted`: register again.
    ///   - `identityProviderUnavailable`, `identityProviderTimedOut`, `identityProviderInterrupted`,
    ///     `identityProviderAnswerInvalid`, `busy`: try again later.
    ///   - `storeUnreadable`: free disk space, then call again before this program ends.
    public nonisolated func accessToken(
        forceRefresh: Bool = false, minimumValidity: Duration = .seconds(60)
    ) async throws -> AccessToken {
        if !forceRefresh, let token = tokenAtHand(validFor: minimumValidity) { return token }
        return try await accessToken(.init(force: forceRefresh, minimumValidity: minimumValidity, at: clock.now))
    }

    /// Returns a new token for another program. A token that the provider issued after `moment` is new enough.
    ///
    /// - Parameters:
    ///   - moment: the time of the other program's request.
    ///   - minimumValidity: the least time for which the token must be valid.
    /// - Throws: as ``accessToken(forceRefresh:minimumValidity:)``.
    package func accessToken(forcedAt moment: Date, minimumValidity: Duration) async throws -> AccessToken {
        try await accessToken(.init(force: true, minimumValidity: minimumValidity, at: moment))
    }

    /// Returns the token in memory if it is good enough. This does not wait.
    package nonisolated func tokenAtHand(validFor minimumValidity: Duration) -> AccessToken? {
        guard let token = live.withLock({ $0.token }), token.isValid(for: minimumValidity, at: clock.now),
            limits?.use() ?? true
        else { return nil }
        return token
    }

    /// Returns another access token than the one that a resource server refused with 401 before its end.
    ///
    /// If many callers pass the same refused token, the provider is asked only once.
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

    /// Whether nobody has told since the account was opened that the owner did not revoke this device.
    var mayBeRevoked: Bool { live.withLock { $0.mayBeRevoked } }

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
                    try await requireNotRevoked()
                    let renewed = try await transaction.run(request)
                    try await requireRecentProof()
                    result = .success(renewed)
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
                throw refusal ?? VaultError(.notLoggedIn, "The session was locked meanwhile. Log in again.")
            }
            live.withLock { $0.use(token, isNew: isNew) }
            // A new sign-in in another program binds the account's tokens to another key.
            proofKey = nil
            if isNew {
                updates.send(.init(.refreshed, id))
                accounts.claimKeysBeside(of: id, token, vaultKey)
            }
            return token
        } catch {
            if accounts.unstored.holds(id) { live.withLock { $0.forgetToken() } }
            throw await failed(error)
        }
    }

    /// Tells the listeners of a failed refresh. Ends the session if the provider refused for good.
    func failed(_ error: any Error) async -> any Error {
        guard let error = VaultError.converting(error) as? VaultError, vaultKey != nil else { return error }
        guard !error.isOfReplacedVaultKey else { return await ended(by: error) }
        let reason: SessionUpdate.Reason
        switch error.code {
        case .refreshTokenExpired, .refreshInterrupted:
            proofKey = nil
            live.withLock { $0.refuse(error) }
            updates.send(.init(.loggedOut, id, reason: .refused, error: error))
            return error
        // Another program logged out or deleted the account, so the session cannot go on.
        case .notLoggedIn: reason = agent == nil ? .everywhere : .requested
        case .accountNotFound: reason = .deleted
        case .deviceRevoked: reason = .refused
        default:
            if error.isProviderOutage { goOffline() }
            updates.send(.init(.refreshFailed, id, error: error))
            return error
        }
        await lock(.loggedOut, reason: reason, error: error)
        noteEnd(error)
        return error
    }

    /// Notes why the session ended, for later calls.
    func noteEnd(_ error: VaultError) { live.withLock { $0.end(error) } }

    /// Returns the refresh token as it is stored now.
    ///
    /// - Throws: ``VaultError`` with code `notLoggedIn`, also if none is stored (log in again), or `storeCorrupt`
    ///   (register again).
    public func refreshToken() async throws -> RefreshToken {
        _ = try acceptedVaultKey()
        return try await storedRefreshToken()
    }

    /// As ``refreshToken()``, even if the provider refused the token.
    func storedRefreshToken() async throws -> RefreshToken {
        let vaultKey = try openVaultKey()
        if agent != nil { throw Self.keptByAgent }
        do {
            return try await accounts.refreshToken(of: id, vaultKey: vaultKey)
        } catch {
            throw await ended(by: error)
        }
    }

    private static let keptByAgent = VaultError(
        .configurationInvalid,
        "The agent holds this session and keeps its refresh token. Log in without the agent, then try again.")

    /// Returns the vault key of a session that the provider did not refuse.
    private func acceptedVaultKey() throws -> VaultKey {
        if let refusal { throw refusal }
        return try openVaultKey()
    }

    /// Returns the key that the tokens are bound to (RFC 9449); nil if they are not bound.
    func dpopKey() async throws -> DPoPKey? {
        if let proofKey, vaultKey != nil { return proofKey }
        let key: DPoPKey?
        if let agent { key = try await agent.proofKey() } else { key = try await refreshToken().credential.dpopKey() }
        // A session that was locked meanwhile must not keep the key.
        if vaultKey != nil { proofKey = key }
        return key
    }

    /// Replaces the stored credential and access token by an app's own: both, or neither.
    func replace(_ credential: Credential, _ accessToken: AccessToken) async throws {
        let vaultKey = try openVaultKey()
        if agent != nil { throw Self.keptByAgent }
        let items = TokenItems(store: accounts.store, id: id, vaultKey: vaultKey)
        let changes = [
            try await items.put(credential), try await items.put(accessToken),
            .noteTokens(scope: accessToken.scope, accessTokenExpiresAt: accessToken.expiresAt), .endRefresh,
        ]
        try await withLock { [accounts, id, source] in
            // A person who logged out meanwhile does not want the tokens stored.
            guard isOpen else { throw VaultError(.notLoggedIn, "The session was locked meanwhile. Log in again.") }
            guard let account = try await accounts.store.account(id) else {
                throw VaultError(
                    .accountNotFound, "The account was deleted meanwhile. Register it again.")
            }
            // If another program registered the account again, its vault key would not open these bytes.
            try await accounts.requireCurrent(vaultKey, of: account, as: account)
            guard source.isOf(account) else {
                throw VaultError(
                    .notLoggedIn,
                    "\(account.displayName) now uses another client or another way to sign in. Log in again.")
            }
            try await accounts.store.apply(changes, to: id, sealedUnder: vaultKey)
        }
        proofKey = nil
        guard self.vaultKey != nil else { return }
        let wasRefused = live.withLock { $0.accept(accessToken) }
        updates.send(.init(wasRefused ? .loggedIn : .refreshed, id))
    }

    private func withLock(_ body: @Sendable () async throws -> Void) async throws {
        do { try await accounts.withLock(on: id) { _ in try await body() } } catch { throw await ended(by: error) }
    }

    // MARK: - The end

    /// Forgets the vault key and the tokens. The account can be opened again. A refresh that is under way still stores
    /// its result.
    public func lock() async { await lock(.locked, reason: .requested) }

    /// - Parameters:
    ///   - event: `locked` or `loggedOut`, for the listeners, unless the session was already over.
    ///   - reason: the reason for the listeners.
    func lock(_ event: SessionUpdate.Event, reason: SessionUpdate.Reason, error: VaultError? = nil) async {
        guard end(event, reason: reason, error: error) else { return }
        // With `replaced`, another login takes this session's place in this process only. The agent keeps the session.
        await agent?.leave(locking: reason != .replaced)
    }

    /// - Returns: false if the session was already over.
    private func end(_ event: SessionUpdate.Event, reason: SessionUpdate.Reason, error: VaultError?) -> Bool {
        guard vaultKey != nil else { return false }
        (vaultKey, proofKey, agentTicket) = (nil, nil, nil)
        accounts.forgetWaitingRenewal(of: id, upTo: waitingRenewal)
        limits?.end()
        let refusal = live.withLock { live in
            defer { live.end() }
            return live.refusal
        }
        // After a refusal the listeners already know that the session is over.
        if refusal == nil { updates.send(.init(event, id, reason: reason, error: error)) }
        return true
    }

    /// Takes over an event of the session in the agent.
    func follow(_ update: SessionUpdate) {
        guard vaultKey != nil else { return }
        switch update.event {
        case .locked: _ = end(.locked, reason: update.reason ?? .requested, error: update.error)
        case .loggedOut where update.reason == .refused:
            let error =
                update.error
                ?? VaultError(.refreshTokenExpired, "The identity provider refused the account. Register again.")
            proofKey = nil
            live.withLock { $0.refuse(error) }
            updates.send(update)
        case .loggedOut: _ = end(.loggedOut, reason: update.reason ?? .requested, error: update.error)
        case .refreshed:
            // The provider may no longer accept the old token.
            proofKey = nil
            live.withLock { $0.forgetToken() }
            updates.send(update)
        case .refreshFailed:
            if update.error?.isProviderOutage == true { goOffline() }
            updates.send(update)
        case .loggedIn:
            // Somebody has logged in again, so a refused session goes on.
            proofKey = nil
            live.withLock { $0.resume() }
            updates.send(update)
        default: break
        }
    }

    // MARK: - A new vault key

    /// Runs `body` while it gives the account a new vault key, and goes on with the new one.
    func replacingVaultKey(
        _ body: (_ old: VaultKey) async throws -> ReplacedVaultKey
    ) async throws -> ReplacedVaultKey {
        let old = try openVaultKey()
        if agent != nil { throw Self.vaultKeyIsKeptByAgent }
        guard !isReplacingVaultKey else { throw Self.isBeingReplaced }
        isReplacingVaultKey = true
        defer { isReplacingVaultKey = false }
        let replaced: ReplacedVaultKey
        do { replaced = try await body(old) } catch { throw VaultError.converting(error) }
        // A session that was locked meanwhile must not keep the key.
        if vaultKey != nil { vaultKey = replaced.vaultKey }
        return replaced
    }

    /// Returns the error for the caller. If another program replaced the vault key, it locks the session.
    ///
    /// - Parameter used: the vault key that the call had; nil for the present one.
    package func ended(by error: any Error, using used: VaultKey? = nil) async -> any Error {
        guard let used = used ?? vaultKey else { return VaultError.converting(error) }
        let error = await accounts.explained(error, used, of: id)
        guard let reason = error as? VaultError, reason.isOfReplacedVaultKey, let present = vaultKey else {
            return error
        }
        // Perhaps this session replaces it, and the call had the old one.
        guard !isReplacingVaultKey, present === used,
            (try? await VaultKeyRecord(store: accounts.store, account: id).require(present)) == nil
        else { return Self.isBeingReplaced }
        await lock(.locked, reason: .vaultKeyReplaced, error: reason)
        live.withLock { $0.end(reason) }
        return reason
    }

    private static let vaultKeyIsKeptByAgent = VaultError(
        .configurationInvalid,
        "The agent keeps the vault key of this session. Log in without the agent to replace the vault key.")

    private static let isBeingReplaced = VaultError(
        .busy, "The vault key is being replaced. Try again.")

    // MARK: - Tokens that could not be stored

    /// Whether this process holds a renewed token that could not be stored. Free disk space, then call
    /// ``accessToken(forceRefresh:minimumValidity:)``, which stores the token first.
    public var holdsUnstoredToken: Bool { accounts.unstored.holds(id) }
}
