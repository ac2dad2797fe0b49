internal import VaultBase
package import VaultHTTP
package import VaultStorage
package import VaultUnlock

/// Opens the sessions of stored accounts. It knows nobody who is logged in: the caller decides what becomes of a
/// session. Every method that throws throws ``VaultError``.
package final class SessionOpener: Sendable {
    package let accounts: Accounts
    /// Sends the updates of the sessions to the listeners.
    package let updates: SessionUpdates
    let issuers: Issuers
    let providers: Providers
    /// The transport for requests to issuers.
    let providerTransport: ProviderTransport
    /// The transport for an app's own requests.
    let transport: any HTTPTransport
    /// Connects to the agent; nil for none.
    let agent: Attach?
    /// The app's own idle timeout; nil if none runs.
    let idleTimeout = Lock<Duration?>(nil)

    /// - Parameters:
    ///   - kinds: the kinds of servers other than OpenID providers. The first that fits an account is used.
    ///   - usesDPoP: whether to bind tokens to a key if the provider announces it.
    ///   - limits: the limits of a call to an issuer.
    ///   - agent: connects to the agent; nil for none.
    package init(
        accounts: Accounts, issuers kinds: [any IssuerKind], usesDPoP: Bool = true, limits: HTTPLimits = HTTPLimits(),
        transport: any HTTPTransport, agent: Attach? = nil
    ) {
        providerTransport = ProviderTransport(base: transport, limits: limits, logger: accounts.logger)
        providers = Providers(usesDPoP: usesDPoP, transport: providerTransport, clock: accounts.clock)
        let usual: [any IssuerKind] = [
            TokenEndpoints(transport: providerTransport, clock: accounts.clock), OpenIDIssuers(providers: providers),
        ]
        issuers = Issuers(kinds: kinds + usual)
        updates = SessionUpdates(logger: accounts.logger)
        var issued = accounts
        issued.ownerTokens = IssuedOwnerTokens(accounts: accounts, issuers: issuers)
        self.accounts = issued
        self.transport = transport
        self.agent = agent
        accounts.onNotice { [weak updates] in updates?.send(SessionUpdate($0)) }
    }

    // MARK: - Opening

    /// Opens an account with a secret or hardware, without a request to the provider.
    ///
    /// - Parameter isPending: whether it counts as a login only after the provider has confirmed it.
    /// - Throws: ``VaultError`` with the codes of opening with an ``UnlockMethod``.
    package func open(
        _ account: Account, with method: UnlockMethod, isPending: Bool = false
    ) async throws -> Session {
        try await VaultError.converting {
            // Before discovery: nothing is asked for an account that the policy forbids.
            try accounts.requireAllowedServers(of: account)
            // Discovery runs while Argon2id runs. If it fails, a later call fails.
            let source = issuers.source(of: account)
            let issuer = try issuers.issuer(source)
            Task { await issuer.warmUp() }
            let (opened, isOffline) = try await opened(account, method)
            let state = SessionState(
                isPending ? .pending : .loggedIn, isOffline ? .offline(wasConfirmed: false) : .none,
                wrongGuesses: opened.wrongGuesses,
                wasWithoutKeyService: !opened.keyslot.needsKeyService && opened.account.hasKeyService)
            return local(
                account.id, vaultKey: opened.vaultKey, source, issuer, state, hasSecret: !method.kind.asksNothing,
                limits: limits(of: opened.account, openedWith: opened.keyslot),
                hasKeyService: opened.account.hasKeyService
            ).session
        }
    }

    /// Opens the account of the person who has just signed in and whose token was stored.
    ///
    /// - Parameter hasSecret: whether a person has just given a secret of the account in this program.
    func open(_ token: SignInResult, vaultKey: VaultKey, hasSecret: Bool) async throws -> Session {
        let source = issuers.source(of: token)
        let account = try await accounts.account(token.account)
        let limits = limits(of: account, openedWith: nil)
        return local(
            token.account, vaultKey: vaultKey, source, try issuers.issuer(source),
            SessionState(.loggedIn, .confirmed), hasSecret: hasSecret, limits: limits,
            hasKeyService: account.hasKeyService
        ).session
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
    ) async throws -> (session: Session, backend: LocalSession) {
        try await VaultError.converting {
            let account = try await accounts.account(id)
            try accounts.requireAllowedServers(of: account)
            try await accounts.requireCurrent(vaultKey, of: account, as: account)
            let source = issuers.source(of: account)
            return local(
                id, vaultKey: vaultKey, source, try issuers.issuer(source),
                SessionState(.loggedIn, adopting: contact), hasSecret: hasSecret,
                hasKeyService: account.hasKeyService)
        }
    }

    // MARK: -

    private func local(
        _ id: AccountID, vaultKey: VaultKey, _ source: IssuerSource, _ issuer: any TokenIssuer, _ state: SessionState,
        hasSecret: Bool, limits: SessionLimits? = nil, hasKeyService: Bool
    ) -> (session: Session, backend: LocalSession) {
        let backend = LocalSession(
            UnlockedAccount(id, vaultKey: vaultKey, accounts: accounts, hasKeyService: hasKeyService), opener: self,
            issuer: issuer, source: source,
            hasSecret: hasSecret)
        return (session(backend, source, state, limits), backend)
    }

    func session(
        _ backend: any SessionBackend, _ source: IssuerSource, _ state: SessionState, _ limits: SessionLimits? = nil
    ) -> Session {
        Session(
            backend, state: state, updates: updates, transport: transport, clock: accounts.clock,
            logger: accounts.logger, limits: limits, source: source)
    }

    /// Returns the open account, and whether it was opened offline because the key service cannot be reached.
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

    /// Returns the limits for a new session.
    ///
    /// - Parameters:
    ///   - keyslot: the keyslot that opened it; nil after a registration.
    private func limits(of account: Account, openedWith keyslot: Keyslot?) -> SessionLimits {
        SessionLimits(accounts.obeyed, opening(of: account, keyslot, under: accounts.policy), clock: accounts.timer) {
            [weak self] in
            self?.idleTimeout.withLock { $0 }
        }
    }

    /// Returns what a later policy may forbid about an account that was opened just now. See ``SessionOpening``.
    package func opening(of account: Account, _ keyslot: Keyslot?, under policy: VaultPolicy?) -> SessionOpening {
        SessionOpening(of: account, keyslot: keyslot, under: policy, at: accounts.clock.now)
    }

    /// Forgets the clients' secrets that accounts had, because no session of this opener is open now.
    package func forgetSecrets() { providers.forgetSecrets() }
}
