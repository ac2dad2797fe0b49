internal import HTTPTypes
internal import Logging
internal import OpenIDConnect
public import VaultBase
public import VaultHTTP
public import VaultStorage
public import VaultUnlock

/// An open account, with its vault key in guarded memory and its tokens. If the agent holds the account open, the vault
/// key and the refresh token stay in the agent. The calls are the same: see ``Auth/attach(userID:)``.
///
/// The session has what all its backends share: the one renewal that callers wait for, the token in memory, the events,
/// the lock and the end. The rest is in the ``SessionBackend``.
public actor Session {
    /// The account of the session.
    public nonisolated let id: AccountID
    nonisolated let backend: any SessionBackend
    /// The renewal that is under way, which only the actor begins and ends. Other callers find it without the actor.
    nonisolated let renewal = Lock<Renewal?>(nil)
    var proofKey: DPoPKey?
    nonisolated let live: Lock<SessionState>
    let updates: SessionUpdates
    /// The policy's limits; nil for a session that is limited elsewhere.
    nonisolated let limits: SessionLimits?
    /// The transport for an app's own requests.
    nonisolated let transport: any HTTPTransport
    nonisolated let clock: any WallClock
    /// Whether `clock` is the machine's.
    nonisolated let hasMachineTime: Bool
    nonisolated let logger: Logger
    /// The source of the tokens; nil if the backend is an app's own.
    nonisolated let source: IssuerSource?

    /// Makes an open session over an app's own backend, mostly in tests. It counts as a login that the provider has
    /// confirmed, and obeys no policy.
    ///
    /// - Parameters:
    ///   - backend: has the tokens.
    ///   - transport: sends the requests of ``authorizedTransport(for:leeway:over:)``; nil to refuse those that name no
    ///     transport.
    ///   - clock: tells whether a token is still valid.
    public init(
        _ backend: any SessionBackend, transport: (any HTTPTransport)? = nil,
        clock: any WallClock = SystemWallClock()
    ) {
        self.init(
            backend, state: SessionState(.loggedIn, .confirmed), updates: SessionUpdates(),
            transport: transport ?? NoTransport(), clock: clock, logger: .silent)
    }

    init(
        _ backend: any SessionBackend, state: SessionState, updates: SessionUpdates, transport: any HTTPTransport,
        clock: any WallClock, logger: Logger, limits: SessionLimits? = nil, source: IssuerSource? = nil
    ) {
        id = backend.id
        live = Lock(state)
        self.backend = backend
        self.updates = updates
        self.limits = limits
        self.transport = transport
        self.clock = clock
        hasMachineTime = clock is SystemWallClock
        self.logger = logger
        self.source = source
        backend.begin(self)
    }

    deinit { limits?.end() }

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
    /// the last call. The stored items can be read, and the access token works until it ends. The next token from the
    /// provider makes it a full session.
    public nonisolated var isOffline: Bool { live.withLock { $0.isOffline } }

    /// The notice for the person about wrong guesses at this unlock method that were not made here; nil if the login
    /// found none. Guesses of the last minute before the login are told later, as the update `.wrongGuesses`.
    public nonisolated var wrongGuesses: AccountNotice? { live.withLock { $0.wrongGuesses } }

    /// Tells the listeners of the login. If the account was locked meanwhile, the last event is the lock.
    func announce() {
        if isOpen { updates.send(.init(.loggedIn, id)) }
    }

    /// Notes that the session goes on without the provider.
    nonisolated func goOffline() { live.withLock { $0.goOffline() } }

    /// Returns the vault key, for sealing an app's own items. If the agent holds the session, the key asks the agent.
    ///
    /// - Throws: ``VaultError`` with code `notLoggedIn` if the session was locked: log in again.
    public func openVaultKey() throws -> VaultKey {
        try requireOpen()
        return try backend.vaultKey()
    }

    /// Notes a use of the session.
    ///
    /// - Throws: ``VaultError`` with code `notLoggedIn`, or the refusal that ended the session.
    nonisolated func requireOpen() throws {
        guard isUsed() else { throw refusal ?? VaultError(.notLoggedIn, "The session is locked. Log in again.") }
    }

    /// Notes a use of the session for the policy's limits.
    ///
    /// - Returns: false if the session is over.
    nonisolated func isUsed() -> Bool { isOpen && limits?.use() ?? true }

    /// The app's own items in the account.
    public nonisolated var items: SessionItems { SessionItems(session: self) }
}

/// Refuses all requests.
private struct NoTransport: HTTPTransport {
    func send(_ request: HTTPRequest, body: [UInt8], limits: HTTPLimits) async throws -> HTTPAnswer {
        throw VaultError.unsupported("a transport")
    }
}
