/// An answered request to a backend, for tests: the request and its outcome, without secrets.
public struct BackendRequest: Sendable, Hashable {
    /// The part of the backend that answered.
    public struct Endpoint: Sendable, Hashable, CustomStringConvertible {
        public let description: String
        /// The browser's login at a backend in front of an identity provider.
        public static let browserLogin = Endpoint(description: "browserLogin")
        /// The browser's login for an OAuth client.
        public static let authorize = Endpoint(description: "authorize")
        /// The form of the login page, for both.
        public static let loginPage = Endpoint(description: "loginPage")
        /// The exchange of a code without PKCE.
        public static let token = Endpoint(description: "token")
        /// The person of an access token.
        public static let me = Endpoint(description: "me")
        /// The login with e-mail address and password.
        public static let login = Endpoint(description: "login")
        /// The use of a refresh token.
        public static let refresh = Endpoint(description: "refresh")
        /// The end of a session.
        public static let logout = Endpoint(description: "logout")
        /// The logout on one machine.
        public static let localLogout = Endpoint(description: "localLogout")
        /// The sign-up of a new person.
        public static let signUp = Endpoint(description: "signUp")
        /// The request after a forgotten password.
        public static let forgotPassword = Endpoint(description: "forgotPassword")
        /// The list of sessions.
        public static let sessions = Endpoint(description: "sessions")
        /// The end of a session in the list.
        public static let endSession = Endpoint(description: "endSession")
        /// Version and features.
        public static let info = Endpoint(description: "info")
        /// The registration of an OAuth client.
        public static let oauthClient = Endpoint(description: "oauthClient")
        /// OAuth's token endpoint.
        public static let oauthToken = Endpoint(description: "oauthToken")
        /// The end of an OAuth token.
        public static let oauthRevocation = Endpoint(description: "oauthRevocation")
        /// The codes for a device.
        public static let oauthDevice = Endpoint(description: "oauthDevice")
        /// The page on which a person connects a device.
        public static let devicePage = Endpoint(description: "devicePage")
        /// The exchange of user name and password for an API token.
        public static let apiToken = Endpoint(description: "apiToken")
        /// The page on which a person makes an API token.
        public static let apiTokenPage = Endpoint(description: "apiTokenPage")
        /// The person of an OAuth access token or API token.
        public static let profile = Endpoint(description: "profile")
        /// The protected list.
        public static let items = Endpoint(description: "items")
        /// The redirect to the protected list.
        public static let moved = Endpoint(description: "moved")
        /// The redirect to another origin.
        public static let elsewhere = Endpoint(description: "elsewhere")
        /// GraphQL.
        public static let graphQL = Endpoint(description: "graphQL")

        /// Whether only the backend with user names and passwords has it.
        var isOfPasswords: Bool {
            let all: Set<Endpoint> = [
                .login, .refresh, .logout, .localLogout, .signUp, .forgotPassword, .sessions, .endSession,
            ]
            return all.contains(self)
        }
    }

    /// The outcome: one of its own values, an OAuth error code, `invalid_token` for a missing or bad access token,
    /// `invalid_request` for a malformed request, or `locked` after too many wrong passwords.
    public typealias Outcome = ProviderRequest.Outcome

    /// The part of the backend that answered.
    public var endpoint: Endpoint
    /// At OAuth's token endpoint: `authorization_code`, `refresh_token`, or the device code's grant type.
    public var grantType: String?
    /// The scheme of the header `Authorization`, such as `Bearer`; nil if the request had none.
    public var authorization: String?
    /// The username; nil if unknown.
    public var username: String?
    /// The generation of the presented refresh token: 1 for a login's first one, 2 after one refresh……
    public var presentedGeneration: Int?
    /// The generation of the issued refresh token.
    public var issuedGeneration: Int?
    /// The HTTP status of the answer.
    public var status: Int
    /// The outcome.
    public var outcome: Outcome
}
