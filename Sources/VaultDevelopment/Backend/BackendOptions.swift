public import FoundationEssentials

extension DevelopmentBackend {
    /// The behaviour of a development backend. `init()` sets the defaults.
    public struct Options: Sendable {
        /// The loopback address to listen on: `127.0.0.1`, `::1` or `localhost`. Other addresses are refused.
        public var host = "127.0.0.1"
        /// The port to listen on; 0 picks a free one.
        public var port = 0
        /// The users who can log in: by username in the browser and for an API token, by e-mail address at
        /// ``Paths/login``.
        public var users: [DevelopmentIdentityProvider.User] = [.alice, .bob]
        /// The backend's clock, for tests that let time pass.
        public var now: @Sendable () -> Date = { Date() }
        /// The paths of the backend.
        public var paths = Paths()
        /// The allowed redirect URIs, compared exactly, besides `http://127.0.0.1:*/callback`,
        /// `http://[::1]:*/callback` and any path of `http://localhost:*/`. OAuth clients register their own.
        public var redirectURIs: [String] = []

        // MARK: Tokens

        /// The lifetime of an access token, in seconds.
        public var accessTokenLifetime = 900
        /// Whether answers with an access token have `expires_in`.
        public var announcesLifetime = true
        /// The lifetime of a refresh token, in seconds.
        public var refreshTokenLifetime = 7 * 86400

        // MARK: User name and password

        /// Whether the calls of this part spell their members `access_token`, and not `accessToken`.
        public var usesSnakeCase = false
        /// What the answer of ``Paths/login`` says of the person.
        public var loginPerson = LoginPerson.object
        /// Whether access tokens say nothing, instead of being JSON Web Tokens.
        public var issuesOpaqueTokens = false
        /// The code of a second factor that ``Paths/login`` wants beside the password; nil for none.
        public var code: String?
        /// The number of refreshes of one session within 15 minutes; 0 for no limit.
        public var maximumRefreshes = 10
        /// Whether ``Paths/signUp`` wants the password twice, also as `confirmPassword`.
        public var wantsConfirmation = false
        /// The number of wrong passwords in a row that lock an e-mail address.
        public var maximumFailures = 5
        /// The duration of that lock, in seconds.
        public var lockDuration = 30

        // MARK: Detection and OAuth

        /// Whether the server takes what Readeck refuses. False: with the feature `oauth` the server has the rules of
        /// Readeck 0.22, and without it those of older versions.
        ///
        /// Readeck 0.22 registers only clients with an https address, and forgets a client after ten minutes, one token
        /// or one refusal. It wants known scopes, issues no refresh tokens, and takes no passwords for API tokens. A
        /// lenient server keeps its clients, ignores unknown scopes, and issues refresh tokens and API tokens.
        public var isLenient = false
        /// Whether there is `GET /api/info`. The oldest servers do not have it.
        public var hasInfo = true
        /// The features in `GET /api/info`; nil leaves them out, like older servers. The feature `oauth` turns OAuth
        /// on.
        public var features: [String]? = ["oauth"]
        /// The version in `GET /api/info`, as `canonical`.
        public var version = "1.4.2"
        /// Whether OAuth gives a refresh token, at a lenient server. Without one, the access token lasts until a test
        /// ends it.
        public var oauthIssuesRefreshToken = true
        /// The scopes that are granted on request.
        public var oauthScopes = ["bookmarks:read", "bookmarks:write", "profile:read", "items:read", "items:write"]
        /// The time that a device has to wait between two polls, in seconds.
        public var devicePollingInterval = 5

        // MARK: Resources

        /// Whether GraphQL answers a bad token with 200 and `errors`, and not with 401.
        public var graphQLErrorsAreOK = true
        /// The target of ``Paths/elsewhere``: an address of another origin.
        public var elsewhere = "http://elsewhere.invalid/"
        /// A provider whose access tokens the resources accept, too.
        public var identityProvider: DevelopmentIdentityProvider?

        /// Creates the default options.
        public init() {}

        func validate() throws {
            try LoopbackServer.checkAddress(host: host, port: port)
            guard maximumRefreshes >= 0 else {
                throw VaultDevelopmentError(.invalidOption, "The number of refreshes must not be negative.")
            }
            for seconds in [accessTokenLifetime, refreshTokenLifetime] where !(1...366 * 86400).contains(seconds) {
                throw VaultDevelopmentError(.invalidOption, "A token lifetime must be 1 second to 366 days.")
            }
            let all = paths.all
            guard all.allSatisfy({ $0.hasPrefix("/") }), Set(all).count == all.count else {
                throw VaultDevelopmentError(.invalidOption, "Paths begin with a slash, and no two are the same.")
            }
        }
    }

    /// What the answer to a login says of the person.
    public struct LoginPerson: Sendable, Hashable {
        let name: String
        /// The object `user`, and the identifier as `userID`.
        public static let object = LoginPerson(name: "object")
        /// Only the identifier, as `userID`.
        public static let identifier = LoginPerson(name: "identifier")
        /// Nothing.
        public static let nothing = LoginPerson(name: "nothing")
    }

    /// The paths of a backend.
    public struct Paths: Sendable, Hashable {
        /// `GET`: the browser's login in front of an identity provider. `POST`: e-mail address and password.
        public var login: String
        /// `POST`: the form of the login page.
        public var loginPage: String
        /// `POST`: exchanges the code of ``login`` for an access token.
        public var token: String
        /// `GET`: the person of the access token.
        public var me: String
        /// `POST`: exchanges a refresh token for new tokens.
        public var refresh: String
        /// `POST`: ends the session of the access token. If the session has refresh tokens, the request needs its newest
        /// one.
        public var logout: String
        /// `POST`: ends the access tokens of the presented token's session. Its refresh token stays valid.
        public var localLogout: String
        /// `POST`: makes an account from e-mail address, password and an optional full name.
        public var signUp: String
        /// `POST`: the e-mail address of a person with a forgotten password.
        public var forgotPassword: String
        /// `GET`: the sessions of the access token's person. `DELETE`, with a slash and an identifier behind it: ends a
        /// session.
        public var sessions: String
        /// `GET`: version and features.
        public var info: String
        /// `POST`: registers an OAuth client.
        public var oauthClient: String
        /// `GET`: the browser's login for an OAuth client.
        public var authorize: String
        /// `POST`: OAuth's token endpoint.
        public var oauthToken: String
        /// `POST`: ends an OAuth token.
        public var oauthRevocation: String
        /// `POST`: gives codes to a device without a browser.
        public var oauthDevice: String
        /// `GET`: the page on which a person connects a device.
        public var devicePage: String
        /// `POST`: exchanges user name and password for an API token.
        public var apiToken: String
        /// `GET`: the page on which a person makes an API token.
        public var apiTokenPage: String
        /// `GET`: the person of the OAuth access token or API token.
        public var profile: String
        /// `GET` and `POST`: a list that needs a token.
        public var items: String
        /// `GET`: redirects to ``items``.
        public var moved: String
        /// `GET`: redirects to another origin (``Options/elsewhere``).
        public var elsewhere: String
        /// `POST`: GraphQL that needs a token.
        public var graphQL: String

        /// Makes the default paths, all under one prefix such as `/notes`.
        public init(under prefix: String = "") {
            login = "\(prefix)/auth/login"
            loginPage = "\(prefix)/auth/login/page"
            token = "\(prefix)/auth/token"
            me = "\(prefix)/auth/me"
            refresh = "\(prefix)/auth/refresh"
            logout = "\(prefix)/auth/logout"
            localLogout = "\(prefix)/auth/local-logout"
            signUp = "\(prefix)/auth/sign-up"
            forgotPassword = "\(prefix)/auth/forgot-password"
            sessions = "\(prefix)/auth/sessions"
            info = "\(prefix)/api/info"
            oauthClient = "\(prefix)/api/oauth/client"
            authorize = "\(prefix)/authorize"
            oauthToken = "\(prefix)/api/oauth/token"
            oauthRevocation = "\(prefix)/api/oauth/revoke"
            oauthDevice = "\(prefix)/api/oauth/device"
            devicePage = "\(prefix)/device"
            apiToken = "\(prefix)/api/auth"
            apiTokenPage = "\(prefix)/profile/tokens"
            profile = "\(prefix)/api/profile"
            items = "\(prefix)/api/items"
            moved = "\(prefix)/api/moved"
            elsewhere = "\(prefix)/api/elsewhere"
            graphQL = "\(prefix)/graphql"
        }

        var all: [String] {
            [
                login, loginPage, token, me, refresh, logout, localLogout, signUp, forgotPassword, sessions, info,
                oauthClient, authorize, oauthToken, oauthRevocation, oauthDevice, devicePage, apiToken, apiTokenPage,
                profile, items, moved, elsewhere, graphQL,
            ]
        }
    }
}
