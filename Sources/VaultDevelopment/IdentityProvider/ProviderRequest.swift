/// An answered request to the provider, for tests: the request and its outcome, without secrets.
public struct ProviderRequest: Sendable, Hashable {
    /// The part of the provider that answered.
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
        /// The form of the login page.
        public static let login = Endpoint(description: "login")
        /// The token endpoint.
        public static let token = Endpoint(description: "token")
        /// The revocation endpoint.
        public static let revocation = Endpoint(description: "revocation")
        /// The UserInfo endpoint.
        public static let userInfo = Endpoint(description: "userInfo")
        /// The endpoint for pushed authorization requests (RFC 9126).
        public static let pushedAuthorization = Endpoint(description: "pushedAuthorization")
        /// The endpoint that gives codes to devices (RFC 8628 section 3.1).
        public static let deviceAuthorization = Endpoint(description: "deviceAuthorization")
        /// The page for connecting a device, with the forms for code, login and confirmation.
        public static let devicePage = Endpoint(description: "devicePage")
        /// The endpoint for registering clients, and for reading or removing a registration (RFC 7591, RFC 7592).
        public static let registration = Endpoint(description: "registration")
        /// The logout endpoint for the browser (OpenID Connect RP-Initiated Logout 1.0).
        public static let endSession = Endpoint(description: "endSession")
    }

    /// The outcome: ``ok``, an error code of the protocol (`invalid_grant`), or one of the values here.
    public struct Outcome: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
        /// The outcome as a word, stable across versions.
        public let rawValue: String
        public var description: String { rawValue }

        /// Makes an outcome from its word: an error code of the protocol, for example.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The request succeeded.
        public static let ok = Outcome(rawValue: "ok")
        /// The code or refresh token is unknown, expired or revoked (RFC 6749 section 5.2).
        public static let invalidGrant = Outcome(rawValue: "invalid_grant")
        /// A rotated refresh token was used again. The client got `invalid_grant`.
        public static let reusedRefreshToken = Outcome(rawValue: "reused_refresh_token")
        /// An authorization code was used again. The client got `invalid_grant`.
        public static let replayedCode = Outcome(rawValue: "replayed_code")
        /// There was no proof of the key that the code or refresh token is bound to. The client got `invalid_grant`.
        public static let wrongDPoPKey = Outcome(rawValue: "wrong_dpop_key")
        /// The login page was filled in with a wrong username or password.
        public static let wrongPassword = Outcome(rawValue: "wrong_password")
        /// A person typed a code on the device page that belongs to no device.
        public static let unknownUserCode = Outcome(rawValue: "unknown_user_code")
        /// The person pressed "Deny" on the login page or the device page.
        public static let denied = Outcome(rawValue: "denied")
        /// A fault of the test answered, and nothing was processed.
        public static let fault = Outcome(rawValue: "fault")
        /// The request was processed, but a fault of the test kept the answer back.
        public static let answerSwallowed = Outcome(rawValue: "answer_swallowed")
    }

    /// The part of the provider that answered.
    public var endpoint: Endpoint
    /// At the token endpoint: `authorization_code`, `refresh_token`, or another requested type.
    public var grantType: String?
    /// The client ID in the request.
    public var clientID: String?
    /// The method of client authentication: `none`, `client_secret_basic` or `client_secret_post`.
    public var clientAuthentication: String?
    /// The thumbprint of the key of a valid DPoP proof (RFC 9449 section 6); nil if there was none.
    public var dpopThumbprint: String?
    /// The additional parameters of an authorization, pushed or device request: `prompt`, `login_hint`, `audience`…
    /// After a push, only the pushed request has them.
    public var parameters: [String: String] = [:]
    /// Whether the browser came with a pushed request (RFC 9126).
    public var isPushed = false
    /// The username; nil if unknown.
    public var username: String?
    /// The generation of the presented refresh token: 1 for a login's first one, 2 after one refresh……
    public var presentedGeneration: Int?
    /// The generation of the issued refresh token.
    public var issuedGeneration: Int?
    /// The outcome.
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
