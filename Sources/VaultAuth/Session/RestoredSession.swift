public import VaultStorage

/// The state of a login after a new start of the program.
public struct RestoredSession: Sendable {
    /// The state. New states may be added, so a `switch` over them needs a `default`.
    public struct State: Hashable, Sendable, CustomStringConvertible {
        /// The state as a word, stable across versions.
        public let name: String
        /// The state for a person, in English.
        public var description: String { name }

        /// There is no such account: sign in and register it.
        public static let absent = State(name: "absent")
        /// The ``RestoredSession/account`` exists and is closed. Ask for the password.
        public static let locked = State(name: "locked")
        /// The ``RestoredSession/session`` is open, and the provider has confirmed it.
        public static let verified = State(name: "verified")
        /// The ``RestoredSession/session`` is open, but the provider cannot be asked now: see
        /// ``RestoredSession/error``. The person stays logged in. The next
        /// ``Session/accessToken(forceRefresh:minimumValidity:)`` asks the provider again.
        public static let unverified = State(name: "unverified")
        /// The provider no longer accepts the account: see ``RestoredSession/error``. Sign in and register again.
        public static let expired = State(name: "expired")
    }

    /// The state of the login. It tells which of the other properties are set.
    public let state: State
    /// The account, with `locked`.
    public let account: Account?
    /// The session, with `verified` and `unverified`.
    public let session: Session?
    /// The error, with `unverified` and `expired`.
    public let error: VaultError?

    private init(_ state: State, account: Account? = nil, session: Session? = nil, error: VaultError? = nil) {
        self.state = state
        self.account = account
        self.session = session
        self.error = error
    }

    /// Makes a result without an account.
    public static let absent = RestoredSession(.absent)
    /// Makes a result with an account that exists and is closed.
    public static func locked(_ account: Account) -> RestoredSession { .init(.locked, account: account) }
    /// Makes a result with an open account that the provider has confirmed.
    public static func verified(_ session: Session) -> RestoredSession { .init(.verified, session: session) }
    /// Makes a result with an open account, if the provider cannot be asked now.
    public static func unverified(_ session: Session, _ error: VaultError) -> RestoredSession {
        .init(.unverified, session: session, error: error)
    }
    /// Makes a result for an account that the provider no longer accepts.
    public static func expired(_ error: VaultError) -> RestoredSession { .init(.expired, error: error) }
}
