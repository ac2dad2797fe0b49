/// One request that a backend answered, as a test sees it: what was asked and how it ended, and no secret.
public struct BackendRequest: Sendable, Hashable {
    /// Which part of the backend was asked.
    public struct Endpoint: Sendable, Hashable, CustomStringConvertible {
        public let description: String
        /// The browser arrives to log in, in front of an identity provider.
        public static let browserLogin = Endpoint(description: "browserLogin")
        /// The browser arrives to log in for an OAuth client.
        public static let authorize = Endpoint(description: "authorize")
        /// What the login page posts to, for both.
        public static let loginPage = Endpoint(description: "loginPage")
        /// A code is redeemed without PKCE.
        public static let token = Endpoint(description: "token")
        /// Whose access token it is.
        public static let me = Endpoint(description: "me")
        /// E-mail address and password.
        public static let login = Endpoint(description: "login")
        /// A refresh token is used.
        public static let refresh = Endpoint(description: "refresh")
        /// A session is ended.
        public static let logout = Endpoint(description: "logout")
        /// The person logged out on one machine.
        public static let localLogout = Endpoint(description: "localLogout")
        /// Somebody new.
        public static let signUp = Endpoint(description: "signUp")
        /// Somebody has forgotten the password.
        public static let forgotPassword = Endpoint(description: "forgotPassword")
        /// The list of sessions.
        public static let sessions = Endpoint(description: "sessions")
        /// One session is ended.
        public static let endSession = Endpoint(description: "endSession")
        /// Version and features.
        public static let info = Endpoint(description: "info")
        /// An OAuth client registers.
        public static let oauthClient = Endpoint(description: "oauthClient")
        /// OAuth's token endpoint.
        public static let oauthToken = Endpoint(description: "oauthToken")
        /// User name and password for an API token.
        public static let apiToken = Endpoint(description: "apiToken")
        /// Whose OAuth access token or API token it is.
        public static let profile = Endpoint(description: "profile")
        /// The protected list.
        public static let items = Endpoint(description: "items")
        /// The redirect to the protected list.
        public static let moved = Endpoint(description: "moved")
        /// The redirect to another origin.
        public static let elsewhere = Endpoint(description: "elsewhere")
        /// GraphQL.
        public static let graphQL = Endpoint(description: "graphQL")
    }

    /// How it ended. Besides the values of its own it is an error code of OAuth, `invalid_token` for a missing or bad
    /// access token, `invalid_request` for what cannot be understood, or `locked` after too many wrong passwords.
    public typealias Outcome = ProviderRequest.Outcome

    /// Which part of the backend was asked.
    public var endpoint: Endpoint
    /// At OAuth's token endpoint: `authorization_code` or `refresh_token`.
    public var grantType: String?
    /// The scheme of the header `Authorization`, such as `Bearer`; nil when the request had none.
    public var authorization: String?
    /// Whom it was about, where that is known.
    public var username: String?
    /// The generation of the refresh token that was presented: 1 for a login's first one, 2 after one refresh…
    public var presentedGeneration: Int?
    /// The generation of the refresh token that was issued.
    public var issuedGeneration: Int?
    /// The HTTP status of the answer.
    public var status: Int
    /// How it ended.
    public var outcome: Outcome
}
