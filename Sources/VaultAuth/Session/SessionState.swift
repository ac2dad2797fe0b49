internal import VaultStorage

/// What can be looked at of a session without waiting for its turn. Every change of it is made here.
struct SessionState: Sendable {
    enum Phase: Sendable {
        /// Open, and a login only when the provider has confirmed it.
        case pending
        /// Open, and a login.
        case loggedIn
        /// The provider refused the account. What is sealed in it can be read until it is locked.
        case refused(VaultError)
        /// The vault key is no longer in memory. The error says why, if the provider or another program ended the
        /// session.
        case over(VaultError?)
    }

    /// What came of asking the provider since the account was opened.
    enum Contact: Sendable {
        case none
        case confirmed
        /// It goes on, or was opened, without the provider.
        case offline(wasConfirmed: Bool)
    }

    private(set) var phase: Phase
    private(set) var contact: Contact
    /// Wrong guesses that were told when it was opened.
    private(set) var wrongGuesses: AccountNotice?
    /// Nil also while a renewed token waits to be stored: that comes first.
    private(set) var token: AccessToken?

    init(_ phase: Phase, _ contact: Contact, wrongGuesses: AccountNotice? = nil) {
        self.phase = phase
        self.contact = contact
        self.wrongGuesses = wrongGuesses
    }

    /// Whether the vault key is in memory.
    var isOpen: Bool { if case .over = phase { false } else { true } }

    var isLogin: Bool { if case .loggedIn = phase { true } else { false } }

    var isConfirmed: Bool {
        switch contact {
        case .none: false
        case .confirmed: true
        case .offline(let wasConfirmed): wasConfirmed
        }
    }

    var isOffline: Bool { if case .offline = contact { true } else { false } }

    /// Why nothing is handed out any more, when that is so.
    var refusal: VaultError? {
        switch phase {
        case .refused(let error): error
        case .over(let error): error
        case .pending, .loggedIn: nil
        }
    }

    /// Has a pending session count as a login.
    mutating func begin() {
        if case .pending = phase { phase = .loggedIn }
    }

    /// - Parameter isNew: whether the provider issued it just now.
    mutating func use(_ token: AccessToken, isNew: Bool) {
        self.token = token
        if isNew { contact = .confirmed }
    }

    mutating func forgetToken() { token = nil }

    mutating func goOffline() { contact = .offline(wasConfirmed: isConfirmed) }

    mutating func refuse(_ error: VaultError) { (phase, token) = (.refused(error), nil) }

    /// Takes tokens that the app got elsewhere: what the provider refused counts no longer.
    ///
    /// - Returns: whether it was refused.
    mutating func accept(_ token: AccessToken) -> Bool {
        self.token = token
        guard case .refused = phase else { return false }
        phase = .loggedIn
        return true
    }

    /// Goes on after another login: what the provider refused counts no longer.
    mutating func resume() {
        token = nil
        if case .refused = phase { phase = .loggedIn }
    }

    /// - Parameter error: why, when the provider or another program had ended it.
    mutating func end(_ error: VaultError? = nil) { self = SessionState(.over(error ?? refusal), .none) }
}
