public import FoundationEssentials

extension DevelopmentIdentityProvider {
    /// How a development identity provider behaves. Each property's default is what `init()` gives.
    public struct Options: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
        /// The loopback address to listen on: `127.0.0.1`, `::1` or `localhost`. Others are refused.
        public var host = "127.0.0.1"
        /// The port to listen on; 0 picks a free one. The issuer contains it, so accounts outlive a restart only
        /// with a fixed port.
        public var port = 0
        /// What it calls itself where a proxy stands before it: `http://HOST:PORT` of that proxy, on loopback as well. Nil
        /// for the address that it listens on.
        public var issuer: String?
        /// Who can log in.
        public var users: [User] = [.alice, .bob]
        /// Where refresh tokens, registered clients and signing keys are kept across restarts, as a path of a file that
        /// is created with mode 0600. Without one they live in memory only.
        public var stateFile: String?
        /// What the provider takes for the current time, for tests that let time pass.
        public var now: @Sendable () -> Date = { Date() }

        // MARK: The client

        /// The one client that is known from the start; others can register. It must use PKCE.
        public var clientID = "vault-cli"
        /// The secret of that client; nil for a public client.
        public var clientSecret: String?
        /// How a client with a secret may present it. Announced, unless empty: then nothing is, and `basic` is what
        /// RFC 8414 says is allowed.
        public var clientSecretMethods: [ClientSecretMethod] = [.basic, .post]
        /// Redirect URIs that are allowed, compared exactly, besides `http://127.0.0.1:*/callback`,
        /// `http://[::1]:*/callback` and any path of `http://localhost:*/`.
        public var redirectURIs: [String] = []

        // MARK: Tokens

        /// How long an access token is valid, in seconds.
        public var accessTokenLifetime = 300
        /// Whether a login with the scope `offline_access` gets a refresh token.
        public var issuesRefreshToken = true
        /// Whether each refresh gives a new refresh token and makes the one before invalid (RFC 9700 section 4.14.2).
        public var rotatesRefreshTokens = true
        /// Whether using a refresh token that was rotated away also revokes the newest one (RFC 9700 section 4.14.2).
        public var reuseDetection = true
        /// The scopes that are granted when asked for; others are left out of the grant silently.
        public var scopes = ["openid", "profile", "email", "offline_access"]
        /// Whether the token endpoint takes username and password (RFC 6749 section 4.3).
        public var allowsPasswordGrant = false

        // MARK: Protection of requests and tokens

        /// Whether clients can, or must, send authorization requests ahead of the browser (RFC 9126).
        public var pushedAuthorization = PushedAuthorization.off
        /// Whether tokens can be, or must be, bound to a key of the client's (RFC 9449, with ES256 only).
        public var dpop = DPoP.off
        /// Whether DPoP proofs need a nonce of the provider's (RFC 9449 section 8).
        public var demandsDPoPNonces = false

        // MARK: Metadata

        /// Which metadata documents there are; the others answer 404.
        public var metadataDocuments: Set<MetadataDocument> = [.openID, .oauth]
        /// Members that only the document of RFC 8414 has, such as `registration_endpoint`.
        public var membersOnlyInOAuthMetadata: Set<String> = []
        /// How long clients may keep metadata and keys, in seconds (`Cache-Control: max-age`); nil for not at all.
        public var metadataLifetime: Int?
        /// Whether there is an endpoint to log out at (OpenID Connect RP-Initiated Logout 1.0).
        public var offersEndSession = true

        // MARK: Device authorization (RFC 8628)

        /// Whether devices without a browser can be signed in.
        public var offersDeviceAuthorization = true
        /// Whether the device gets a `verification_uri_complete`, which has the code in it.
        public var offersVerificationURIComplete = true
        /// How long a device's codes are valid, in seconds.
        public var deviceCodeLifetime = 600
        /// How many seconds a device must wait between polls; nil leaves it out of the answer, which means 5.
        public var devicePollingInterval: Int? = 5
        /// Whether a device that polls too early is told `slow_down`. Turn it off where the clock of a test stands still.
        public var enforcesPollingInterval = true

        // MARK: Registration (RFC 7591)

        /// Whether clients can register themselves.
        public var offersRegistration = true
        /// Whether every client that registers gets a secret, even one that asks for none.
        public var insistsOnClientSecret = false
        /// How long the secret of a registered client is valid, in seconds; nil for as long as the client.
        public var registeredSecretLifetime: Int?

        /// Creates the default options.
        public init() {}

        public var description: String { "Options(\(host):\(port), client \(clientID), users \(users))" }
        public var debugDescription: String { description }
        public var customMirror: Mirror {
            Mirror(self, children: ["host": host, "port": port, "clientID": clientID, "users": users])
        }
    }

    /// What becomes of pushed authorization requests.
    public struct PushedAuthorization: Sendable, Hashable {
        let name: String
        /// There is no such endpoint.
        public static let off = PushedAuthorization(name: "off")
        /// It is announced, and requests that were not pushed are fine, too.
        public static let offered = PushedAuthorization(name: "offered")
        /// It is announced as required, and requests that were not pushed are refused.
        public static let required = PushedAuthorization(name: "required")
        /// It is announced, but the endpoint refuses everything.
        public static let refused = PushedAuthorization(name: "refused")

        var isOffered: Bool { self != .off }
    }

    /// What becomes of DPoP proofs.
    public struct DPoP: Sendable, Hashable {
        let name: String
        /// They are not looked at, as by a server that has never heard of them.
        public static let off = DPoP(name: "off")
        /// Announced: tokens are bound for a client that sends proofs.
        public static let offered = DPoP(name: "offered")
        /// Announced, and a token request without a proof is refused.
        public static let required = DPoP(name: "required")
    }

    /// How a client presents its secret (RFC 6749 section 2.3.1).
    public struct ClientSecretMethod: Sendable, Hashable {
        let name: String
        /// In the header `Authorization: Basic`.
        public static let basic = ClientSecretMethod(name: "client_secret_basic")
        /// In the form, as `client_secret`.
        public static let post = ClientSecretMethod(name: "client_secret_post")
    }

    /// Where a provider describes itself.
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

    /// Who logs in with what a form says; nil when that is wrong.
    func user(loggingInWith form: FormParameters?) -> DevelopmentIdentityProvider.User? {
        guard let user = form?["username"].flatMap(user(named:)), form?["password"] == user.password else { return nil }
        return user
    }
}
