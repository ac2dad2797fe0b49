/// One request that the provider answered, as a test sees it: what was asked and how it ended, and no secret.
public struct ProviderRequest: Sendable, Hashable {
    /// Which part of the provider was asked.
    public struct Endpoint: Sendable, Hashable, CustomStringConvertible {
        public let description: String
        /// The discovery document.
        public static let discovery = Endpoint(description: "discovery")
        /// The signing keys (`jwks_uri`).
        public static let keys = Endpoint(description: "keys")
        /// The authorization endpoint, which shows the login page.
        public static let authorization = Endpoint(description: "authorization")
        /// What the login page posts to.
        public static let login = Endpoint(description: "login")
        /// The token endpoint.
        public static let token = Endpoint(description: "token")
        /// The revocation endpoint.
        public static let revocation = Endpoint(description: "revocation")
        /// The UserInfo endpoint.
        public static let userInfo = Endpoint(description: "userInfo")
    }

    /// How it ended: ``ok``, or an error code of the protocol (`invalid_grant`), or one of the values here.
    public struct Outcome: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
        public let rawValue: String
        public var description: String { rawValue }

        public init(rawValue: String) { self.rawValue = rawValue }

        /// Done as asked.
        public static let ok = Outcome(rawValue: "ok")
        /// The code or refresh token is unknown, expired or revoked (RFC 6749 section 5.2).
        public static let invalidGrant = Outcome(rawValue: "invalid_grant")
        /// A refresh token was used that had been rotated away. The client was told `invalid_grant`.
        public static let reusedRefreshToken = Outcome(rawValue: "reused_refresh_token")
        /// An authorization code was used again. The client was told `invalid_grant`.
        public static let replayedCode = Outcome(rawValue: "replayed_code")
        /// The login page was filled in with a wrong username or password.
        public static let wrongPassword = Outcome(rawValue: "wrong_password")
        /// The person pressed "Deny" on the login page.
        public static let denied = Outcome(rawValue: "denied")
        /// A fault set by the test answered instead; nothing was processed.
        public static let fault = Outcome(rawValue: "fault")
        /// It was processed, but a fault set by the test kept the answer back.
        public static let answerSwallowed = Outcome(rawValue: "answer_swallowed")
    }

    /// Which part of the provider was asked.
    public var endpoint: Endpoint
    /// At the token endpoint: `authorization_code`, `refresh_token`, or what else was asked for.
    public var grantType: String?
    /// Whom it was about, where that is known.
    public var username: String?
    /// The generation of the refresh token that was presented: 1 for a login's first one, 2 after one refresh…
    public var presentedGeneration: Int?
    /// The generation of the refresh token that was issued.
    public var issuedGeneration: Int?
    /// How it ended.
    public var outcome: Outcome
}

extension ProviderRequest {
    init(_ endpoint: Endpoint, _ outcome: Outcome, username: String? = nil) {
        self.endpoint = endpoint
        self.outcome = outcome
        self.username = username
    }
}
