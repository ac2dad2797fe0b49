public import VaultStorage

/// What is left of a login after the program was started again.
public struct RestoredSession: Sendable {
    /// What there is. New ones may be added, so a `switch` over them needs a `default`.
    public struct State: Hashable, Sendable, CustomStringConvertible {
        public let description: String
        /// There is no such account: sign in and register it.
        public static let absent = State(description: "absent")
        /// The ``RestoredSession/account`` is there, and its secret opens it: ask for the password.
        public static let locked = State(description: "locked")
        /// The ``RestoredSession/session`` is open, and the provider still takes it.
        public static let verified = State(description: "verified")
        /// The ``RestoredSession/session`` is open, and the provider cannot be asked right now: see
        /// ``RestoredSession/error``. Nobody is logged out by that. The session goes on, and its next
        /// ``Session/accessToken(forceRefresh:minimumValidity:)`` asks again.
        public static let unverified = State(description: "unverified")
        /// The provider does not take the account any more: see ``RestoredSession/error``. Sign in and register again.
        public static let expired = State(description: "expired")
    }

    /// The state of the login. It tells which of the other properties are set.
    public let state: State
    /// With `locked`.
    public let account: Account?
    /// With `verified` and `unverified`.
    public let session: Session?
    /// With `unverified` and `expired`.
    public let error: VaultError?

    private init(_ state: State, account: Account? = nil, session: Session? = nil, error: VaultError? = nil) {
        self.state = state
        self.account = account
        self.session = session
        self.error = error
    }

    /// There is no such account.
    public static let absent = RestoredSession(.absent)
    /// The account is there, and its secret opens it.
    public static func locked(_ account: Account) -> RestoredSession { .init(.locked, account: account) }
    /// The account is open, and the provider still takes it.
    public static func verified(_ session: Session) -> RestoredSession { .init(.verified, session: session) }
    /// The account is open, and the provider cannot be asked right now.
    public static func unverified(_ session: Session, _ error: VaultError) -> RestoredSession {
        .init(.unverified, session: session, error: error)
    }
    /// The provider does not take the account any more.
    public static func expired(_ error: VaultError) -> RestoredSession { .init(.expired, error: error) }
}
