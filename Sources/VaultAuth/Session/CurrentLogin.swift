internal import VaultBase
internal import VaultStorage

/// The login of the one person who is logged in. Each change of the login is one step in this type.
final class CurrentLogin: Sendable {
    enum Login: Sendable {
        case none
        /// Tokens that the app set and that are not stored yet. The case is indirect because each request for a token
        /// copies the login.
        indirect case unstored(SignInResult)
        case open(Session)
    }

    /// An account that is being opened. If it is locked or logged out meanwhile, it stays closed.
    struct Opening: Sendable {
        fileprivate let timesLocked: Int
    }

    private struct State {
        var login = Login.none
        /// The account that was locked last, whose cached access token is still stored.
        var lockedAccount: AccountID?
        /// The number of times that somebody locked or logged out.
        var timesLocked = 0
        /// The number of accounts that are being opened now.
        var openings = 0
    }

    private let state = Lock(State())
    /// Sends updates to the listeners.
    let updates: SessionUpdates
    private let willBegin: @Sendable () -> Void
    private let didEnd: @Sendable () -> Void

    /// - Parameters:
    ///   - willBegin: called before a login.
    init(
        updates: SessionUpdates, willBegin: @escaping @Sendable () -> Void, didEnd: @escaping @Sendable () -> Void
    ) {
        self.updates = updates
        self.willBegin = willBegin
        self.didEnd = didEnd
    }

    var login: Login { state.withLock { $0.login } }

    /// The open account, if there is one.
    var session: Session? { login.openSession }

    /// Whether somebody is logged in.
    var isLoggedIn: Bool {
        switch login {
        case .none: false
        case .unstored: true
        case .open(let session): session.isLogin
        }
    }

    /// Whether there is something to lock. An account that is being opened and a login that waits for its confirmation
    /// also count: a person who comes back too late must find nothing open.
    var hasSomethingToLock: Bool {
        let (login, openings) = state.withLock { ($0.login, $0.openings) }
        return switch login {
        case .none: openings > 0
        case .unstored: true
        case .open(let session): openings > 0 || session.isLogin || session.isOpen
        }
    }

    // MARK: - Logging in

    /// Notes that an account is being opened, until ``end(_:)-(Opening)``.
    func beginOpening() -> Opening {
        state.withLock { state in
            state.openings += 1
            return Opening(timesLocked: state.timesLocked)
        }
    }

    func end(_: Opening) { state.withLock { $0.openings -= 1 } }

    /// Whether somebody has locked or logged out since then.
    func hasLocked(since opening: Opening) -> Bool { state.withLock { $0.timesLocked } != opening.timesLocked }

    /// Keeps accounts closed that are being opened now.
    func cancelPendingOpens() { state.withLock { $0.timesLocked += 1 } }

    /// Makes a session the current login. Ends the session before it.
    ///
    /// - Parameters:
    ///   - opening: from ``beginOpening()``; nil for an account that the person has just signed in to.
    ///   - isPending: whether to tell the listeners later, because the provider has to confirm the account first.
    /// - Throws: ``VaultError`` with code `notLoggedIn` if somebody locked or logged out after `opening`.
    func open(_ session: Session, since opening: Opening? = nil, isPending: Bool = false) async throws {
        willBegin()
        let (old, isAnnounced) = try state.withLock { state in
            if let opening, opening.timesLocked != state.timesLocked {
                throw VaultError(.notLoggedIn, "The account was locked while it was being opened. Log in again.")
            }
            // Tokens that the app set were already announced.
            let isAnnounced =
                if case .unstored(let token) = state.login { token.account == session.id } else { false }
            defer { (state.login, state.lockedAccount) = (.open(session), nil) }
            return (state.login, isAnnounced)
        }
        await ended(old, isAnnounced ? nil : .replaced)
        if !isAnnounced, !isPending { await session.announce() }
    }

    /// Makes tokens that are not stored yet the current login.
    ///
    /// - Throws: ``VaultError`` with code `busy` if an account is open.
    func open(_ token: SignInResult) async throws {
        willBegin()
        let old = try state.withLock { state in
            guard state.login.openSession == nil else {
                throw VaultError(.busy, "An account is open. Log out, then set the tokens again.")
            }
            defer { state.login = .unstored(token) }
            return state.login
        }
        await ended(old, .replaced)
        updates.send(.init(.loggedIn, token.account))
    }

    // MARK: - The end

    /// Locks the open account.
    func lock(_ reason: SessionUpdate.Reason) async {
        let (session, over) = state.withLock { state -> (Session?, Login) in
            state.timesLocked += 1
            if let session = state.login.openSession {
                state.lockedAccount = session.id
                return (session, .none)
            }
            // A login that was not stored cannot be opened again, so it is over.
            defer { state.login = .none }
            return (nil, state.login)
        }
        guard let session else { return await ended(over, reason) }
        await session.lock(.locked, reason: reason)
        leave(session)
    }

    /// Locks one session, which may no longer be the current one. An account that is being opened goes on.
    func lock(_ session: Session, _ reason: SessionUpdate.Reason) async {
        state.withLock { state in
            if state.login.openSession === session { state.lockedAccount = session.id }
        }
        await session.lock(.locked, reason: reason)
        leave(session)
    }

    /// Ends the session, also one that was locked before, and tells the listeners.
    ///
    /// - Returns: the account with the stored tokens.
    func forget() async -> AccountID? {
        let (old, locked) = state.withLock { state in
            state.timesLocked += 1
            defer { (state.login, state.lockedAccount) = (.none, nil) }
            return (state.login, state.lockedAccount)
        }
        var (id, untold) = (locked, locked)
        if case .open(let session) = old {
            id = session.id
            // The end of an open session tells the listeners itself.
            untold = session.isOpen ? nil : id
        }
        await ended(old, .requested)
        if let untold { updates.send(.init(.loggedOut, untold, reason: .requested)) }
        return id
    }

    /// Returns the login that is to end. A login that is not stored ends at once, and nobody is told yet. Accounts that
    /// are being opened stay closed.
    func takeLogin() -> Login {
        state.withLock { state in
            state.timesLocked += 1
            let login = state.login
            if case .unstored = login { state.login = .none }
            return login
        }
    }

    /// Ends a session, which may no longer be the current one.
    func end(_ session: Session, _ reason: SessionUpdate.Reason) async {
        await session.lock(.loggedOut, reason: reason)
        leave(session)
    }

    /// Ends the session of an account that was deleted.
    func accountWasDeleted(_ id: AccountID) async {
        if case .open(let session) = login, session.id == id { return await end(session, .deleted) }
        let wasLocked = state.withLock { state in
            defer { if state.lockedAccount == id { state.lockedAccount = nil } }
            return state.lockedAccount == id
        }
        if wasLocked { updates.send(.init(.loggedOut, id, reason: .deleted)) }
    }

    /// Forgets a locked session, unless somebody has logged in meanwhile.
    private func leave(_ session: Session) {
        let wasCurrent = state.withLock { state in
            guard case .open(let current) = state.login, current === session else { return false }
            state.login = .none
            return true
        }
        if wasCurrent { didEnd() }
    }

    /// - Parameter reason: the reason for the end; nil if the login goes on in another form.
    private func ended(_ old: Login, _ reason: SessionUpdate.Reason?) async {
        switch old {
        case .none: break
        case .unstored(let token):
            if let reason { updates.send(.init(.loggedOut, token.account, reason: reason)) }
        case .open(let session):
            await session.lock(.loggedOut, reason: reason ?? .replaced)
            didEnd()
        }
    }
}

extension CurrentLogin.Login {
    fileprivate var openSession: Session? {
        if case .open(let session) = self, session.isOpen { session } else { nil }
    }
}
