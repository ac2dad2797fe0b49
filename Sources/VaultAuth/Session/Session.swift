internal import OpenIDConnect
internal import VaultBase
internal import VaultHTTP
public import VaultStorage
public import VaultUnlock

/// An open account, with its vault key in guarded memory and its tokens. If the agent holds the account open, the vault
/// key and the refresh token stay in the agent. The calls are the same: see ``Auth/attach(userID:)``.
public actor Session {
    /// The account of the session.
    public nonisolated let id: AccountID
    var vaultKey: VaultKey?
    /// The number of the last renewal of a keyslot that waited when the session began.
    let waitingRenewal: Int
    /// Whether this session gives the account a new vault key now.
    var isReplacingVaultKey = false
    var refreshing: (request: RefreshTransaction.Request, task: Task<AccessToken, any Error>)?
    var proofKey: DPoPKey?
    nonisolated let live: Lock<SessionState>
    let accounts: Accounts
    let issuer: any TokenIssuer
    nonisolated let source: IssuerSource
    let updates: SessionUpdates
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

    nonisolated var clock: any WallClock { accounts.clock }

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

    /// The notice for the person about wrong guesses at this way in that were not made here; nil if the login found none.
    /// Tries of the last minute before the login are told later, as the update `.wrongGuesses`.
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
    nonisolated func isUsed() -> Bool { isOpen && limits?.use() ?? true }

    /// The app's own items in the account.
    public nonisolated var items: SessionItems {
        SessionItems(
            LocalItems(
                accounts: accounts, id: id, isOpen: { self.isUsed() }, vaultKey: { try await self.openVaultKey() },
                explain: { await self.ended(by: $0, using: $1) }))
    }
}
