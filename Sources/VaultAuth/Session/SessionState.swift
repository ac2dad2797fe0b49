internal import FoundationEssentials
internal import VaultStorage
internal import VaultUnlock

/// The state of a session that can be read without waiting for the actor. All changes of the state are in this type.
struct SessionState: Sendable {
    enum Phase: Sendable {
        /// Open, but a login only after the provider has confirmed it.
        case pending
        /// Open, and a login.
        case loggedIn
        /// The provider refused the account. Its items can be read until it is locked.
        case refused(VaultError)
        /// The vault key is no longer in memory. The error is the reason, if the provider or another program ended the
        /// session.
        case over(VaultError?)
    }

    /// The result of the last request to the provider since the account was opened.
    enum Contact: Sendable {
        case none
        case confirmed
        /// The session goes on, or was opened, without the provider.
        case offline(wasConfirmed: Bool)
    }

    private(set) var phase: Phase
    private(set) var contact: Contact
    /// The wrong guesses that the key service told when the account was opened.
    private(set) var wrongGuesses: AccountNotice?
    /// Whether the account was opened without the key service, which could have refused a revoked device.
    private let wasWithoutKeyService: Bool
    /// The access token. Nil, too, while a renewed token waits to be stored, because that comes first.
    private(set) var token: AccessToken? { didSet { found = nil } }
    /// The last request that the token was good enough for, and its tick of the kernel's clock.
    private var found: (tick: Int, minimumValidity: Duration)?

    init(
        _ phase: Phase, _ contact: Contact, wrongGuesses: AccountNotice? = nil, wasWithoutKeyService: Bool = false
    ) {
        self.wasWithoutKeyService = wasWithoutKeyService
        self.phase = phase
        self.contact = contact
        self.wrongGuesses = wrongGuesses
    }

    /// - Parameter contact: what another session of the account, which goes on as this one, has heard.
    init(_ phase: Phase, adopting contact: SessionContact) {
        let heard: Contact =
            if contact.isOffline {
                .offline(wasConfirmed: contact.isConfirmed)
            } else {
                contact.isConfirmed ? .confirmed : .none
            }
        self.init(phase, heard, wasWithoutKeyService: contact.mayBeRevoked)
    }

    /// What a session that goes on as another one has heard.
    var contactToHandOn: SessionContact {
        SessionContact(isOffline: isOffline, isConfirmed: isConfirmed, mayBeRevoked: mayBeRevoked)
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

    /// Whether nobody has told since the account was opened that the owner did not revoke this device.
    var mayBeRevoked: Bool { isOffline || (wasWithoutKeyService && !isConfirmed) }

    /// The reason why the session gives out no tokens; nil if it does.
    var refusal: VaultError? {
        switch phase {
        case .refused(let error): error
        case .over(let error): error
        case .pending, .loggedIn: nil
        }
    }

    /// Returns the token if an earlier request in the same tick of the kernel's clock found that it is good enough.
    func token(foundIn tick: Int, validFor minimumValidity: Duration) -> AccessToken? {
        guard let found, found.tick == tick, minimumValidity <= found.minimumValidity else { return nil }
        return token
    }

    /// Returns the token if it is good enough.
    ///
    /// - Parameter tick: the present tick of the kernel's clock; nil if the answer holds only now.
    mutating func token(validFor minimumValidity: Duration, at now: Date, inTick tick: Int?) -> AccessToken? {
        guard let token, token.isValid(for: minimumValidity, at: now) else { return nil }
        found = tick.map { ($0, minimumValidity) }
        return token
    }

    /// Makes a pending session count as a login.
    mutating func begin() {
        if case .pending = phase { phase = .loggedIn }
    }

    /// - Parameter isNew: whether the provider has just issued it.
    mutating func use(_ token: AccessToken, isNew: Bool) {
        self.token = token
        if isNew { contact = .confirmed }
    }

    mutating func forgetToken() { token = nil }

    mutating func goOffline() { contact = .offline(wasConfirmed: isConfirmed) }

    mutating func refuse(_ error: VaultError) { (phase, token) = (.refused(error), nil) }

    /// Takes tokens from the app. They end an earlier refusal.
    ///
    /// - Returns: whether the session was refused before.
    mutating func accept(_ token: AccessToken) -> Bool {
        self.token = token
        guard case .refused = phase else { return false }
        phase = .loggedIn
        return true
    }

    /// Goes on after another login, which ends an earlier refusal.
    mutating func resume() {
        token = nil
        if case .refused = phase { phase = .loggedIn }
    }

    /// - Parameter error: the reason, if the provider or another program ended the session.
    mutating func end(_ error: VaultError? = nil) { self = SessionState(.over(error ?? refusal), .none) }
}

/// What the servers have said about an account since it was opened. A program hands it on with the session, so that the
/// same limits hold wherever the session goes on.
package struct SessionContact: Hashable, Sendable {
    /// Whether the account is open without the provider. See ``Session/isOffline``.
    package let isOffline: Bool
    /// Whether the provider has confirmed the account.
    package let isConfirmed: Bool
    /// Whether nobody has told that the owner did not revoke this device.
    package let mayBeRevoked: Bool

    package static let confirmed = SessionContact(isOffline: false, isConfirmed: true, mayBeRevoked: false)

    package init(isOffline: Bool, isConfirmed: Bool, mayBeRevoked: Bool) {
        self.isOffline = isOffline
        self.isConfirmed = isConfirmed
        self.mayBeRevoked = mayBeRevoked
    }
}
