public import FoundationEssentials

extension DevelopmentIdentityProvider {
    /// How a development identity provider behaves. Each property's default is what `init()` gives.
    public struct Options: Sendable {
        /// The loopback address to listen on: `127.0.0.1`, `::1` or `localhost`. Others are refused.
        public var host = "127.0.0.1"
        /// The port to listen on; 0 picks a free one. The issuer contains it, so accounts outlive a restart only
        /// with a fixed port.
        public var port = 0
        /// What it calls itself where a proxy stands before it: `http://HOST:PORT` of that proxy, on loopback as well. Nil
        /// for the address that it listens on.
        public var issuer: String?
        /// The one client that is known. It is public: it has no secret, and must use PKCE.
        public var clientID = "vault-cli"
        /// Redirect URIs that are allowed, compared exactly, besides `http://127.0.0.1:*/callback`,
        /// `http://[::1]:*/callback` and any path of `http://localhost:*/`.
        public var redirectURIs: [String] = []
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
        /// Who can log in.
        public var users: [User] = [.alice, .bob]
        /// Where refresh tokens and signing keys are kept across restarts, as a path of a file that is created with
        /// mode 0600. Without one they live in memory only.
        public var stateFile: String?
        /// What the provider takes for the current time, for tests that let time pass.
        public var now: @Sendable () -> Date = { Date() }

        /// Creates the default options.
        public init() {}
    }

    /// Somebody who can log in.
    public struct User: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
        /// What is typed on the login page, and the claim `preferred_username`.
        public var username: String
        /// What is typed on the login page.
        public var password: String
        /// The claim `name`.
        public var name: String
        /// The claim `email`.
        public var email: String

        /// Creates a user with the given claims.
        public init(username: String, password: String, name: String, email: String) {
            self.username = username
            self.password = password
            self.name = name
            self.email = email
        }

        /// The user `alice` with the password `alice-password`.
        public static let alice = User(
            username: "alice", password: "alice-password", name: "Alice Example", email: "alice@example.com")
        /// The user `bob` with the password `bob-password`.
        public static let bob = User(
            username: "bob", password: "bob-password", name: "Bob Example", email: "bob@example.com")

        /// The claim `sub`: the same for this username in every run, opaque, and not the username itself.
        public var subject: String { subjectIdentifier(username: username) }

        public var description: String { "User(\(username))" }
        public var debugDescription: String { description }
        public var customMirror: Mirror { Mirror(self, children: ["username": username]) }
    }
}

extension DevelopmentIdentityProvider.Options {
    func validate() throws {
        guard ["127.0.0.1", "::1", "localhost"].contains(host) else {
            throw VaultTestingError(
                .invalidOption, "The development identity provider listens on loopback only, not on \(host).")
        }
        guard (0...65535).contains(port) else {
            throw VaultTestingError(.invalidOption, "\(port) is not a port.")
        }
        guard issuer.map(Self.isLoopbackOrigin) ?? true else {
            throw VaultTestingError(.invalidOption, "The issuer must be http://HOST:PORT of this machine.")
        }
        guard accessTokenLifetime > 0, accessTokenLifetime <= 366 * 86400 else {
            throw VaultTestingError(.invalidOption, "The access token lifetime must be 1 second to 366 days.")
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
}
