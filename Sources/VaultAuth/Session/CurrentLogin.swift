internal import VaultLocks
internal import VaultStorage

/// Who is logged in: one person at a time. Every change of that is made here, in one step.
final class CurrentLogin: Sendable {
    enum Login: Sendable {
        case none
        /// Tokens that the app set itself, and that are not stored yet. Behind a reference: every request for a token
        /// copies the login.
        indirect case unstored(RefreshToken)
        case open(Session)
    }

    /// An account that is being opened. Locking or logging out meanwhile keeps it closed.
    struct Opening: Sendable {
        fileprivate let timesLocked: Int
    }

    private struct State {
        var login = Login.none
        /// The account that was locked last, whose cached access token is still stored.
        var lockedAccount: AccountID?
        /// How often somebody has locked or logged out.
        var timesLocked = 0
        /// How many accounts are being opened right now.
        var openings = 0
    }

    private let state = Lock(State())
    /// Tells the listeners.
    let updates: SessionUpdates
    private let willBegin: @Sendable () -> Void
    private let didEnd: @Sendable () -> Void

    /// - Parameters:
    ///   - updates: tells the listeners.
    ///   - willBegin: called before somebody is logged in.
    ///   - didEnd: called when a session has ended.
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

    /// Whether somebody who comes back after too long must find nothing open: also not what is being opened right now, and
    /// what waits to be confirmed.
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

    /// Whether somebody has locked or logged out since.
    func hasLocked(since opening: Opening) -> Bool { state.withLock { $0.timesLocked } != opening.timesLocked }

    /// Has accounts that are being opened right now stay closed.
    func keepClosedWhatIsBeingOpened() { state.withLock { $0.timesLocked += 1 } }

    /// Makes a session the one that is logged in. The one before ends.
    ///
    /// - Parameters:
    ///   - opening: from ``beginOpening()``; nil for an account that the person has just signed in to.
    ///   - isPending: whether the listeners are not told yet, because the provider has to confirm the account first.
    /// - Throws: ``VaultError`` with code `notLoggedIn` when somebody locked or logged out after `opening`.
    func open(_ session: Session, since opening: Opening? = nil, isPending: Bool = false) async throws {
        willBegin()
        let (old, isAnnounced) = try state.withLock { state in
            if let opening, opening.timesLocked != state.timesLocked {
                throw VaultError(.notLoggedIn, "The account was locked while it was being opened. Log in again.")
            }
            // Tokens that the app set were announced already.
            let isAnnounced =
                if case .unstored(let token) = state.login { token.account == session.id } else { false }
            defer { (state.login, state.lockedAccount) = (.open(session), nil) }
            return (state.login, isAnnounced)
        }
        await ended(old, isAnnounced ? nil : .replaced)
        if !isAnnounced, !isPending { await session.announce() }
    }

    /// Has tokens that are not stored yet count as the login.
    ///
    /// - Throws: ``VaultError`` with code `busy` when an account is open.
    func open(_ token: RefreshToken) async throws {
        willBegin()
        let old = try state.withLock { state in
            guard state.login.openSession == nil else {
                throw VaultError(.busy, "Somebody has logged in meanwhile. Log out, and set the tokens again.")
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
            // A login that was not stored cannot be opened again: it is over.
            defer { state.login = .none }
            return (nil, state.login)
        }
        guard let session else { return await ended(over, reason) }
        await session.lock(.locked, reason: reason)
        leave(session)
    }

    /// Ends the session, also one that was locked before, and tells.
    ///
    /// - Returns: whose tokens are stored.
    func forget() async -> AccountID? {
        let (old, locked) = state.withLock { state in
            state.timesLocked += 1
            defer { (state.login, state.lockedAccount) = (.none, nil) }
            return (state.login, state.lockedAccount)
        }
        var (id, untold) = (locked, locked)
        if case .open(let session) = old {
            id = session.id
            // Ending a session that is open tells by itself.
            untold = session.isOpen ? nil : id
        }
        await ended(old, .requested)
        if let untold { updates.send(.init(.loggedOut, untold, reason: .requested)) }
        return id
    }

    /// The login that is to end: one that is not stored is over at once, and nobody was told yet. What is being opened
    /// meanwhile stays closed.
    func loginToEnd() -> Login {
        state.withLock { state in
            state.timesLocked += 1
            let login = state.login
            if case .unstored = login { state.login = .none }
            return login
        }
    }

    /// Ends a session that may not be the one that is logged in any more.
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

    /// Forgets a session that is locked, unless somebody has logged in meanwhile.
    private func leave(_ session: Session) {
        let wasCurrent = state.withLock { state in
            guard case .open(let current) = state.login, current === session else { return false }
            state.login = .none
            return true
        }
        if wasCurrent { didEnd() }
    }

    /// - Parameter reason: why it ends; nil when it goes on in another form.
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
