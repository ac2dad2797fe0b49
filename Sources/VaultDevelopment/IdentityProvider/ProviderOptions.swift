public import FoundationEssentials

extension DevelopmentIdentityProvider {
    /// The behaviour of a development identity provider. `init()` sets the defaults.
    public struct Options: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
        /// The loopback address to listen on: `127.0.0.1`, `::1` or `localhost`. Other addresses are refused.
        public var host = "127.0.0.1"
        /// The port to listen on; 0 picks a free one. The issuer contains the port, so accounts outlive a restart only
        /// with a fixed port.
        public var port = 0
        /// The issuer behind a proxy: `http://HOST:PORT` of the proxy, also on loopback. Nil for the provider's own
        /// address.
        public var issuer: String?
        /// The users who can log in.
        public var users: [User] = [.alice, .bob]
        /// The path of the file that keeps refresh tokens, registered clients and signing keys across restarts. Its
        /// mode is 0600. Without a file, they are in memory only.
        public var stateFile: String?
        /// The provider's clock, for tests that let time pass.
        public var now: @Sendable () -> Date = { Date() }

        // MARK: The client

        /// The client that is known from the start. It must use PKCE. Other clients can register.
        public var clientID = "vault-cli"
        /// The secret of that client; nil for a public client.
        public var clientSecret: String?
        /// The announced methods for presenting a client's secret. If empty, none is announced, and RFC 8414 allows
        /// `basic`.
        public var clientSecretMethods: [ClientSecretMethod] = [.basic, .post]
        /// The allowed redirect URIs, compared exactly, besides `http://127.0.0.1:*/callback`,
        /// `http://[::1]:*/callback` and any path of `http://localhost:*/`.
        public var redirectURIs: [String] = []

        // MARK: Tokens

        /// The lifetime of an access token, in seconds.
        public var accessTokenLifetime = 300
        /// Whether a login with the scope `offline_access` gets a refresh token.
        public var issuesRefreshToken = true
        /// Whether each refresh gives a new refresh token and makes the old one invalid (RFC 9700 section 4.14.2).
        public var rotatesRefreshTokens = true
        /// Whether the use of an old refresh token also revokes the newest one (RFC 9700 section 4.14.2).
        public var reuseDetection = true
        /// Whether a token request can name the resource server that its access token is for (RFC 8707). Such a token
        /// is signed (RFC 9068). Otherwise the parameter `resource` is ignored.
        public var restrictsAudiences = true
        /// The scopes that are granted on request. Others are silently left out.
        public var scopes = ["openid", "profile", "email", "offline_access"]
        /// Whether the token endpoint accepts username and password (RFC 6749 section 4.3).
        public var allowsPasswordGrant = false

        // MARK: Protection of requests and tokens

        /// Whether clients can or must push authorization requests before the browser opens (RFC 9126).
        public var pushedAuthorization = PushedAuthorization.off
        /// Whether tokens can or must be bound to the client's key (RFC 9449, with ES256 only).
        public var dpop = DPoP.off
        /// Whether DPoP proofs need the provider's nonce (RFC 9449 section 8).
        public var demandsDPoPNonces = false

        // MARK: Metadata

        /// The existing metadata documents. The others answer 404.
        public var metadataDocuments: Set<MetadataDocument> = [.openID, .oauth]
        /// Members that only the document of RFC 8414 has, such as `registration_endpoint`.
        public var membersOnlyInOAuthMetadata: Set<String> = []
        /// The time for which clients may keep metadata and keys, in seconds (`Cache-Control: max-age`); nil for none.
        public var metadataLifetime: Int?
        /// Whether there is a logout endpoint (OpenID Connect RP-Initiated Logout 1.0).
        public var offersEndSession = true

        // MARK: Device authorization (RFC 8628)

        /// Whether devices without a browser can sign in.
        public var offersDeviceAuthorization = true
        /// Whether the device gets a `verification_uri_complete` with the code in it.
        public var offersVerificationURIComplete = true
        /// The lifetime of a device's codes, in seconds.
        public var deviceCodeLifetime = 600
        /// The wait of a device between polls, in seconds; nil leaves it out of the answer, which means 5.
        public var devicePollingInterval: Int? = 5
        /// Whether a poll that comes too early gets `slow_down`. Turn this off if the test's clock stands still.
        public var enforcesPollingInterval = true

        // MARK: Registration (RFC 7591)

        /// Whether clients can register themselves.
        public var offersRegistration = true
        /// Whether every registered client gets a secret, even without asking for one.
        public var insistsOnClientSecret = false
        /// The lifetime of a registered client's secret, in seconds; nil for the lifetime of the client.
        public var registeredSecretLifetime: Int?

        /// Creates the default options.
        public init() {}

        public var description: String { "Options(\(host):\(port), client \(clientID), users \(users))" }
        public var debugDescription: String { description }
        public var customMirror: Mirror {
            Mirror(self, children: ["host": host, "port": port, "clientID": clientID, "users": users])
        }
    }

    /// The handling of pushed authorization requests.
    public struct PushedAuthorization: Sendable, Hashable {
        let name: String
        /// There is no endpoint for pushed requests.
        public static let off = PushedAuthorization(name: "off")
        /// The endpoint is announced, and other requests are accepted, too.
        public static let offered = PushedAuthorization(name: "offered")
        /// The endpoint is announced as required, and other requests are refused.
        public static let required = PushedAuthorization(name: "required")
        /// The endpoint is announced, but refuses everything.
        public static let refused = PushedAuthorization(name: "refused")

        var isOffered: Bool { self != .off }
    }

    /// The handling of DPoP proofs.
    public struct DPoP: Sendable, Hashable {
        let name: String
        /// Proofs are ignored, as by a server without DPoP.
        public static let off = DPoP(name: "off")
        /// DPoP is announced, and tokens are bound for a client that sends proofs.
        public static let offered = DPoP(name: "offered")
        /// DPoP is announced, and a token request without a proof is refused.
        public static let required = DPoP(name: "required")
    }

    /// A method for presenting a client's secret (RFC 6749 section 2.3.1).
    public struct ClientSecretMethod: Sendable, Hashable {
        let name: String
        /// In the header `Authorization: Basic`.
        public static let basic = ClientSecretMethod(name: "client_secret_basic")
        /// In the form, as `client_secret`.
        public static let post = ClientSecretMethod(name: "client_secret_post")
    }

    /// A metadata document of a provider.
    public struct MetadataDocument: Sendable, Hashable {
        let path: String
        let endpoint: ProviderRequest.Endpoint
        /// `/.well-known/openid-configuration` (OpenID Connect Discovery 1.0).
        public static let openID = MetadataDocument(path: "/.well-known/openid-configuration", endpoint: .discovery)
        /// `/.well-known/oauth-authorization-server` (RFC 8414).
        public static let oauth = MetadataDocument(
            path: "/.well-known/oauth-authorization-server", endpoint: .oauthMetadata)
    }
}

extension DevelopmentIdentityProvider.Options {
    func validate() throws {
        try LoopbackServer.checkAddress(host: host, port: port)
        guard issuer.map(Self.isLoopbackOrigin) ?? true else {
            throw VaultDevelopmentError(.invalidOption, "The issuer must be http://HOST:PORT of this machine.")
        }
        try Self.check("access token lifetime", accessTokenLifetime, in: 1...366 * 86400)
        try Self.check("device code lifetime", deviceCodeLifetime, in: 1...86400)
        try Self.check("polling interval", devicePollingInterval ?? 5, in: 0...3600)
        try Self.check("metadata lifetime", metadataLifetime ?? 0, in: 0...366 * 86400)
    }

    private static func check(_ name: String, _ seconds: Int, in range: ClosedRange<Int>) throws {
        guard range.contains(seconds) else {
            throw VaultDevelopmentError(
                .invalidOption, "The \(name) must be \(range.lowerBound) to \(range.upperBound) seconds.")
        }
    }

    private static func isLoopbackOrigin(_ text: String) -> Bool {
        ["127.0.0.1", "[::1]", "localhost"].contains { host in
            text.hasPrefix("http://\(host):") && UInt16(text.dropFirst("http://\(host):".count)) != nil
        }
    }

    func user(named username: String) -> DevelopmentIdentityProvider.User? {
        users.first { $0.username == username }
    }

    /// Returns the user of a login form; nil if the username or the password is wrong.
    func user(loggingInWith form: FormParameters?) -> DevelopmentIdentityProvider.User? {
        guard let user = form?["username"].flatMap(user(named:)), form?["password"] == user.password else { return nil }
        return user
    }
}
