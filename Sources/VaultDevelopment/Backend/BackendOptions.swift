public import FoundationEssentials

extension DevelopmentBackend {
    /// How a development backend behaves. Each property's default is what `init()` gives.
    public struct Options: Sendable {
        /// The loopback address to listen on: `127.0.0.1`, `::1` or `localhost`. Others are refused.
        public var host = "127.0.0.1"
        /// The port to listen on; 0 picks a free one.
        public var port = 0
        /// Who can log in, by username in the browser and for an API token, by e-mail address at ``Paths/login``.
        public var users: [DevelopmentIdentityProvider.User] = [.alice, .bob]
        /// What the backend takes for the current time, for tests that let time pass.
        public var now: @Sendable () -> Date = { Date() }
        /// Where things are.
        public var paths = Paths()
        /// Redirect URIs that are allowed, compared exactly, besides `http://127.0.0.1:*/callback`,
        /// `http://[::1]:*/callback` and any path of `http://localhost:*/`. OAuth clients register their own.
        public var redirectURIs: [String] = []

        // MARK: Tokens

        /// How long an access token is valid, in seconds.
        public var accessTokenLifetime = 900
        /// Whether answers with an access token have `expires_in`.
        public var announcesLifetime = true
        /// How long a refresh token is valid, in seconds.
        public var refreshTokenLifetime = 7 * 86400

        // MARK: User name and password

        /// How many wrong passwords in a row lock an e-mail address.
        public var maximumFailures = 5
        /// For how long, in seconds.
        public var lockDuration = 30

        // MARK: Detection and OAuth

        /// What `GET /api/info` says the server can; nil leaves it out, as older servers do. OAuth is there with `oauth`.
        public var features: [String]? = ["oauth"]
        /// The version in `GET /api/info`, as `canonical`.
        public var version = "1.4.2"
        /// Whether OAuth gives a refresh token. Without one, the access token lasts until it is made invalid.
        public var oauthIssuesRefreshToken = true
        /// The scopes that are granted when asked for; others are left out of the grant silently.
        public var oauthScopes = ["profile:read", "items:read", "items:write"]

        // MARK: Resources

        /// Whether GraphQL answers a bad token with 200 and `errors`, and not with 401.
        public var graphQLErrorsAreOK = true
        /// Where ``Paths/elsewhere`` redirects to: an address of another origin.
        public var elsewhere = "http://elsewhere.invalid/"
        /// A provider whose access tokens the resources take, too.
        public var identityProvider: DevelopmentIdentityProvider?

        /// Creates the default options.
        public init() {}

        func validate() throws {
            try LoopbackServer.checkAddress(host: host, port: port)
            for seconds in [accessTokenLifetime, refreshTokenLifetime] where !(1...366 * 86400).contains(seconds) {
                throw VaultDevelopmentError(.invalidOption, "A token lifetime must be 1 second to 366 days.")
            }
            let all = paths.all
            guard all.allSatisfy({ $0.hasPrefix("/") }), Set(all).count == all.count else {
                throw VaultDevelopmentError(.invalidOption, "Paths begin with a slash, and no two are the same.")
            }
        }
    }

    /// Where things are at a backend.
    public struct Paths: Sendable, Hashable {
        /// `GET`: the browser's login in front of an identity provider. `POST`: e-mail address and password.
        public var login: String
        /// What the login page posts to.
        public var loginPage: String
        /// `POST`: the code of ``login`` for an access token.
        public var token: String
        /// `GET`: whose access token it is.
        public var me: String
        /// `POST`: a refresh token for new tokens.
        public var refresh: String
        /// `POST`: ends the session of the tokens that are presented.
        public var logout: String
        /// `POST`: ends the access tokens of the session whose access token is presented; its refresh token stays.
        public var localLogout: String
        /// `POST`: e-mail address, password and perhaps a full name of somebody new.
        public var signUp: String
        /// `POST`: the e-mail address of somebody who has forgotten the password.
        public var forgotPassword: String
        /// `GET`: the sessions of the person whose access token is presented. `DELETE`, with a slash and an identifier
        /// behind it: ends one.
        public var sessions: String
        /// `GET`: version and features.
        public var info: String
        /// `POST`: registers an OAuth client.
        public var oauthClient: String
        /// `GET`: the browser's login for an OAuth client.
        public var authorize: String
        /// `POST`: OAuth's token endpoint.
        public var oauthToken: String
        /// `POST`: an API token for user name and password.
        public var apiToken: String
        /// `GET`: whose OAuth access token or API token it is.
        public var profile: String
        /// `GET` and `POST`: a list that wants a token.
        public var items: String
        /// `GET`: redirects to ``items``.
        public var moved: String
        /// `GET`: redirects to another origin (``Options/elsewhere``).
        public var elsewhere: String
        /// `POST`: GraphQL that wants a token.
        public var graphQL: String

        /// The default paths, all under one prefix such as `/notes`.
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
            apiToken = "\(prefix)/api/auth"
            profile = "\(prefix)/api/profile"
            items = "\(prefix)/api/items"
            moved = "\(prefix)/api/moved"
            elsewhere = "\(prefix)/api/elsewhere"
            graphQL = "\(prefix)/graphql"
        }

        var all: [String] {
            [
                login, loginPage, token, me, refresh, logout, localLogout, signUp, forgotPassword, sessions, info,
                oauthClient, authorize, oauthToken, apiToken,
                profile, items, moved, elsewhere, graphQL,
            ]
        }
    }
}
