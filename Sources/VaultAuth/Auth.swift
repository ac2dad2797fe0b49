public import Foundation
public import OpenIDConnect
internal import VaultBackground
public import VaultCrypto
public import VaultHTTP
internal import VaultLocks
public import VaultStorage

/// Logging in and out, and the tokens of whoever is logged in. One person at a time is logged in per `Auth`.
public actor Auth: AuthProtocol {
    /// What a login needs to know.
    public struct Settings: Sendable {
        /// The provider's issuer URL; for a backend or server its base URL. Empty for an app that only opens accounts that
        /// exist, of every issuer.
        public var issuer: String
        /// The client's id there; nil or empty to register a client (RFC 7591).
        public var clientID: String?
        /// The secret of the client ``clientID``, in printable ASCII; nil for a public client. It is sent to ``issuer``
        /// alone, and it is sealed with the account's token, so a renewal does not need this setting.
        public var clientSecret: SharedSecret?
        /// The scopes asked for.
        public var scopes: [String]
        /// Where the browser is sent back to; nil for a free port on 127.0.0.1.
        public var redirectURI: String?
        /// What a sign-in at an OpenID provider asks for, unless the sign-in itself says something else.
        public var parameters = SignInParameters()
        /// What a client that is registered calls itself in front of the person.
        public var clientName: String
        /// Whether to register a new client although one was registered before.
        public var registersAnew = false
        /// Whether tokens are bound to a key (RFC 9449) where the provider announces it.
        public var usesDPoP = true

        public init(
            issuer: String, clientID: String?, scopes: [String], redirectURI: String?,
            clientName: String = "Credential Vault"
        ) {
            self.issuer = issuer
            self.clientID = clientID
            self.scopes = scopes
            self.redirectURI = redirectURI
            self.clientName = clientName
        }
    }

    enum State {
        case loggedOut
        /// Tokens that the app set itself, and that are not stored yet. Behind a reference: every request for a token
        /// copies the state.
        indirect case unstored(RefreshToken)
        case open(Session)
    }

    /// Outside the actor's isolation, so that ``isLoggedIn`` can be asked at any time. Only ``change(to:_:)`` writes it.
    private nonisolated let current = Lock(State.loggedOut)
    private let kinds: [any IssuerKind]
    private var issuers: [IssuerSource: any TokenIssuer] = [:]
    /// How often somebody has locked or logged out: an account that was being opened meanwhile stays closed.
    var timesLocked = 0
    /// How many accounts are being opened right now.
    private var openings = 0
    /// The account that was locked last, whose cached access token is still stored.
    var lockedAccount: AccountID?
    private var redirects: AsyncStream<String>.Continuation?
    var backgroundTimeout: BackgroundTimeout?
    var idleTimeout: BackgroundTimeout?
    nonisolated let idle = IdleMonitor()
    let settings: Settings?
    package let accounts: Accounts
    let transport: any HTTPTransport
    private let listening: any RedirectListening
    nonisolated let updates = SessionUpdates()
    let providers: Providers
    let unstoredLogins: UnstoredLogins

    /// - Parameters:
    ///   - settings: nil for an app that only opens accounts that exist.
    ///   - listening: opens a port for the browser's redirect.
    ///   - issuers: the kinds of servers besides OpenID providers. The first that fits an account counts.
    public init(
        settings: Settings?, accounts: Accounts, transport: any HTTPTransport, listening: any RedirectListening,
        issuers kinds: [any IssuerKind] = []
    ) {
        self.settings = settings
        self.accounts = accounts
        self.transport = transport
        self.listening = listening
        unstoredLogins = UnstoredLogins(clock: accounts.clock)
        providers = Providers(
            usesDPoP: settings?.usesDPoP ?? true, transport: transport, clock: accounts.clock)
        self.kinds = kinds + [OpenIDIssuers(providers: providers)]
        accounts.onNotice { [weak updates] in updates?.send(SessionUpdate($0)) }
    }

    // MARK: - Signing in

    /// Signs in. Nothing is stored yet: pass the result to `storage.storeRefreshToken(_:withNewPassword:)`. Until then
    /// the person who is logged in stays so, and the new login authorizes only what names it: ``accessToken(of:forceRefresh:minimumValidity:)``,
    /// ``authorizedTransport(for:as:leeway:over:)``. To give it up: ``revoke(_:)``.
    ///
    /// - Throws: ``VaultError``: `cancelled`, `identityProviderUnavailable` and its kin, `tokenInvalid`,
    ///   `configurationInvalid`, and with a password `wrongSecret` and `tooManyAttempts`.
    @discardableResult
    public func signIn(_ way: any SignIn) async throws -> RefreshToken {
        try await run(way, issuer: settings?.issuer ?? "")
    }

    /// As ``signIn(_:)``, at another issuer.
    ///
    /// - Parameter layout: what is stored with an account that signs in again; nil for a new one.
    package func run(_ way: any SignIn, issuer: String, layout: StoredLayout? = nil) async throws -> RefreshToken {
        guard var settings, !issuer.isEmpty else {
            throw VaultError(
                .configurationInvalid,
                "The issuer is needed to sign in: the URL of the identity provider, backend or server.")
        }
        // The secret is for the configured issuer: no other one may see it.
        if issuer != settings.issuer { settings.clientSecret = nil }
        settings.issuer = issuer
        let (stream, continuation) = AsyncStream.makeStream(of: String.self, bufferingPolicy: .bufferingNewest(16))
        redirects?.finish()
        // A redirect to a port of this machine comes to the listener, and not through the app.
        redirects = try LoopbackRedirect(settings.redirectURI) == nil ? continuation : nil
        defer { continuation.finish() }
        let context = SignInContext(
            settings: settings, transport: transport, listening: listening, clock: accounts.clock,
            store: accounts.store,
            appRedirects: stream, layout: layout, issuers: kinds,
            provider: { [providers] client in
                providers.provider(
                    issuer: issuer, clientID: client.id, clientSecret: client.secret,
                    authenticationMethod: client.authenticationMethod)
            })
        return try await converting {
            var token = try await way.run(in: context)
            let key = IssuerKey(token)
            token.layout = try layout ?? kind(of: key)?.layout(of: key)
            return token
        }
    }

    /// Hands over the URL that the provider redirected to, for an app that receives it itself (a custom scheme).
    ///
    /// - Returns: false when no login is waiting for one.
    @discardableResult
    public func handleRedirect(url: URL) -> Bool {
        switch redirects?.yield(url.absoluteString) {
        case .enqueued, .dropped: true
        default: false
        }
    }

    // MARK: - Opening accounts

    /// - Parameter isPending: whether it is to count as a login only when the provider has confirmed it.
    func unlock(_ account: Account, with method: UnlockMethod, isPending: Bool) async throws -> Session {
        let timesLocked = timesLocked
        openings += 1
        defer { openings -= 1 }
        do {
            // Discovery takes its time while Argon2id takes its own. Whether it fails is seen when it is needed.
            let source = source(of: account)
            let issuer = try issuer(source)
            Task { await issuer.warmUp() }
            let (opened, isOffline) = try await opened(account, method)
            guard timesLocked == self.timesLocked else {
                throw VaultError(.notLoggedIn, "The account was locked while it was being opened. Log in again.")
            }
            let session = try await open(account.id, source, opened.vaultKey, isPending: isPending)
            session.setWrongGuesses(opened.wrongGuesses)
            if isOffline { session.setOffline() }
            return session
        } catch {
            throw VaultError.converting(error)
        }
    }

    /// Makes an account whose vault key is at hand the one that is logged in.
    package func open(_ token: RefreshToken, vaultKey: VaultKey) async throws -> Session {
        let session = try await open(token.account, source(of: token), vaultKey, isPending: false)
        session.setConfirmed()
        return session
    }

    private func open(
        _ id: AccountID, _ source: IssuerSource, _ vaultKey: VaultKey, isPending: Bool
    ) async throws -> Session {
        let issuer = try issuer(source)
        // Tokens that the app set were announced already.
        let isAnnounced = if case .unstored(let token) = state { token.account == id } else { false }
        let session = Session(
            id: id, vaultKey: vaultKey, accounts: accounts, issuer: issuer, source: source, updates: updates)
        session.setPending(isPending)
        lockedAccount = nil
        await change(to: .open(session), isAnnounced ? nil : .replaced)
        if !isAnnounced, !isPending { updates.send(.init(.loggedIn, id)) }
        return session
    }

    // MARK: - While logged in

    /// Whether somebody is logged in.
    public nonisolated var isLoggedIn: Bool {
        switch state {
        case .loggedOut: false
        case .unstored: true
        case .open(let session): session.isLogin
        }
    }

    /// Whether somebody who comes back after too long must find nothing open: also not what is being opened right now, and
    /// what waits to be confirmed.
    var hasSomethingToLock: Bool { openings > 0 || isLoggedIn || session != nil }

    nonisolated var state: State { current.withLock { $0 } }

    /// What happens to sessions from now on: a stream of its own for everybody who asks. None of them misses anything,
    /// and none holds up another.
    ///
    /// ```swift
    /// for await update in vault.auth.sessionUpdates(replaying: true) { print(update.account, update.event) }
    /// ```
    ///
    /// - Parameter isReplaying: whether it begins with `loggedIn` of the account that is logged in now, if there is one.
    public nonisolated func sessionUpdates(replaying isReplaying: Bool) -> AsyncStream<SessionUpdate> {
        updates.stream {
            guard isReplaying, case .open(let session) = current.withLock({ $0 }), session.isLogin else { return nil }
            return SessionUpdate(.loggedIn, session.id)
        }
    }

    /// The open account, if there is one.
    public nonisolated var session: Session? {
        if case .open(let session) = state, session.isOpen { session } else { nil }
    }

    /// A token that is valid for another minute. See ``Session/accessToken(forceRefresh:minimumValidity:)``.
    public nonisolated func accessToken() async throws -> AccessToken {
        if case .open(let session) = state, let token = session.tokenAtHand(validFor: .seconds(60)) { return token }
        return try await accessToken(forceRefresh: false, minimumValidity: .seconds(60))
    }

    /// A valid access token. See ``Session/accessToken(forceRefresh:minimumValidity:)``.
    public nonisolated func accessToken(
        forceRefresh: Bool, minimumValidity: Duration
    ) async throws -> AccessToken {
        switch state {
        case .loggedOut:
            throw VaultError(.notLoggedIn, "Nobody is logged in.")
        case .unstored(let token):
            return try await accessToken(of: token, forceRefresh: forceRefresh, minimumValidity: minimumValidity)
        case .open(let session):
            if !forceRefresh, let token = session.tokenAtHand(validFor: minimumValidity) { return token }
            return try await session.accessToken(forceRefresh: forceRefresh, minimumValidity: minimumValidity)
        }
    }

    /// Another access token than one that a server refused. See ``Session/accessToken(replacing:minimumValidity:)``.
    public nonisolated func accessToken(replacing refused: AccessToken) async throws -> AccessToken {
        try await holder().accessToken(replacing: refused)
    }

    /// The refresh token of whoever is logged in.
    public var refreshToken: RefreshToken {
        get async throws {
            switch state {
            case .loggedOut: throw VaultError(.notLoggedIn, "Nobody is logged in.")
            case .unstored(let token): await unstoredLogins.newest(token) ?? token
            case .open(let session): try await session.refreshToken()
            }
        }
    }

    // MARK: - The parts

    /// - Parameter reason: why the present login ends; nil when it goes on in another form.
    func change(to new: State, _ reason: SessionUpdate.Reason? = .replaced) async {
        // A login is something that the person did: the idle timeout counts from it.
        if case .loggedOut = new {} else { idle.noteActivity() }
        let old = current.withLock { state in
            defer { state = new }
            return state
        }
        switch old {
        case .loggedOut: break
        case .unstored(let token):
            if let reason { updates.send(.init(.loggedOut, token.account, reason: reason)) }
        case .open(let session):
            await session.lock(.loggedOut, reason: reason ?? .replaced)
            providers.forgetSecrets()
        }
    }

    /// The issuer whose accounts are meant; nil for those of every issuer.
    package var issuerOfAccounts: String? { settings.flatMap { $0.issuer.isEmpty ? nil : $0.issuer } }

    func issuer(_ source: IssuerSource) throws -> any TokenIssuer {
        if let known = issuers[source] { return known }
        guard let kind = kind(of: source.key) else {
            throw VaultError(
                .configurationInvalid,
                "This account signs in in a way that this program does not know: \(source.key.method).")
        }
        let issuer = try kind.issuer(of: source.key, layout: source.layout)
        issuers[source] = issuer
        return issuer
    }

    func source(of account: Account) -> IssuerSource { source(IssuerKey(account), account.layout) }

    func source(of token: RefreshToken) -> IssuerSource { source(IssuerKey(token), token.layout) }

    private func source(_ key: IssuerKey, _ layout: StoredLayout?) -> IssuerSource {
        IssuerSource(key: key, layout: layout ?? (try? kind(of: key)?.layout(of: key)))
    }

    private func kind(of key: IssuerKey) -> (any IssuerKind)? { kinds.first { $0.issues(tokensOf: key) } }

    package func converting<R>(_ body: () async throws -> R) async throws -> R {
        do { return try await body() } catch { throw VaultError.converting(error) }
    }
}
