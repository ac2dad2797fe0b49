/// One request that the provider answered, as a test sees it: what was asked and how it ended, and no secret.
public struct ProviderRequest: Sendable, Hashable {
    /// Which part of the provider was asked.
    public struct Endpoint: Sendable, Hashable, CustomStringConvertible {
        public let description: String
        /// The discovery document of OpenID Connect.
        public static let discovery = Endpoint(description: "discovery")
        /// The metadata document of RFC 8414.
        public static let oauthMetadata = Endpoint(description: "oauthMetadata")
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
        /// Where the client itself sends an authorization request (RFC 9126).
        public static let pushedAuthorization = Endpoint(description: "pushedAuthorization")
        /// Where a device gets its codes (RFC 8628 section 3.1).
        public static let deviceAuthorization = Endpoint(description: "deviceAuthorization")
        /// The page on which a person connects a device: the code, the login and the confirmation are posted to it.
        public static let devicePage = Endpoint(description: "devicePage")
        /// Where clients register, and see or remove their registration (RFC 7591, RFC 7592).
        public static let registration = Endpoint(description: "registration")
        /// Where the browser logs out (OpenID Connect RP-Initiated Logout 1.0).
        public static let endSession = Endpoint(description: "endSession")
    }

    /// How it ended: ``ok``, or an error code of the protocol (`invalid_grant`), or one of the values here.
    public struct Outcome: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
        /// The outcome as a word, stable across versions.
        public let rawValue: String
        public var description: String { rawValue }

        /// Makes an outcome from its word: an error code of the protocol, for example.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// Done as asked.
        public static let ok = Outcome(rawValue: "ok")
        /// The code or refresh token is unknown, expired or revoked (RFC 6749 section 5.2).
        public static let invalidGrant = Outcome(rawValue: "invalid_grant")
        /// A refresh token was used that had been rotated away. The client was told `invalid_grant`.
        public static let reusedRefreshToken = Outcome(rawValue: "reused_refresh_token")
        /// An authorization code was used again. The client was told `invalid_grant`.
        public static let replayedCode = Outcome(rawValue: "replayed_code")
        /// The code or refresh token is bound to a key, and there was no proof of it. The client was told `invalid_grant`.
        public static let wrongDPoPKey = Outcome(rawValue: "wrong_dpop_key")
        /// The login page was filled in with a wrong username or password.
        public static let wrongPassword = Outcome(rawValue: "wrong_password")
        /// A code was typed in on the device page that no device has.
        public static let unknownUserCode = Outcome(rawValue: "unknown_user_code")
        /// The person pressed "Deny" on the login page or the device page.
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
    /// The client that it says it is from.
    public var clientID: String?
    /// How the client authenticated at an endpoint of its own: `none`, `client_secret_basic` or `client_secret_post`.
    public var clientAuthentication: String?
    /// The thumbprint of the key of a valid DPoP proof (RFC 9449 section 6); nil when there was none.
    public var dpopThumbprint: String?
    /// What an authorization request, a pushed one, or a device asked for besides the protocol's own: `prompt`,
    /// `login_hint`, `audience`… Of a request that had been pushed, see the pushed one.
    public var parameters: [String: String] = [:]
    /// Whether the browser came with a request that had been pushed (RFC 9126).
    public var isPushed = false
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
    init(_ endpoint: Endpoint, _ outcome: Outcome, username: String? = nil, clientID: String? = nil) {
        self.endpoint = endpoint
        self.outcome = outcome
        self.username = username
        self.clientID = clientID
    }
}
