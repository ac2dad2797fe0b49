public import Logging
public import OpenIDConnect
internal import VaultAuth
public import VaultBackends
public import VaultCrypto
public import VaultStorage

#if Networking
    public import VaultNetworking
#endif

/// What a ``Vault`` needs to know.
public struct VaultConfiguration: Sendable {
    /// The identity provider's issuer URL, exactly as the provider writes it; for a backend or server its base URL.
    /// Needed to register; where it is set, only this issuer's accounts are found.
    public var issuer: String?
    /// The id of the app at the provider: a client with PKCE, public unless ``clientSecret`` is set. Without one, registering an account also registers a
    /// client (RFC 7591), or uses the one that was registered before.
    public var clientID: String?
    /// The secret of the client ``clientID``, where the provider gave it one, as Google does: printable ASCII. It is
    /// sealed with each account's token, so only signing in needs it. A secret without a client id is
    /// `configurationInvalid` at a sign-in that needs a client. A secret in an app that others can read protects nothing.
    public var clientSecret: SharedSecret?
    /// What a sign-in at an OpenID provider asks for, unless the sign-in itself says something else.
    public var signInParameters = SignInParameters()
    /// What a client that is registered calls itself in front of the person.
    public var clientName = "Credential Vault"
    /// Whether to register a new client although one was registered before.
    public var registersClientAnew = false
    /// The base URL of the key service for new accounts. An account keeps to the one it was registered with.
    public var keyServiceURL: String?
    /// The scopes to ask for.
    public var scopes: [String]
    /// Where the provider sends the browser back to; nil for a free port on 127.0.0.1.
    public var redirectURI: String?
    /// Whether tokens are bound to a key where the provider announces that (DPoP, RFC 9449).
    public var usesDPoP = true
    /// How long to wait for servers.
    public var limits = TimeLimits()
    /// Gets what happens: sign-ins, locks, refreshes, which kind of token is used, calls of servers. Nothing secret is
    /// logged at any level. It drops everything unless an app sets another one.
    public var logger = Logger.silent
    #if Networking
        /// Certificate authorities to trust besides those of the system, such as a company's own. Not for a transport of
        /// the app's own.
        public var certificateFile: CertificateFile?
    #endif
    /// What the paths and fields are called at a backend that is no OpenID provider.
    /// An account keeps to the one that it was registered with.
    public var backend = BackendLayout()
    /// Why ``backend`` cannot be used. A sign-in or renewal that needs it throws this error; nothing else does.
    package var backendProblem: VaultError?
    /// The folder of the store; nil for `$XDG_DATA_HOME/credential-vault` (`~/.local/share/credential-vault`).
    public var folder: String?
    /// Whether that folder may be on a FUSE file system, which only this machine uses. A store on a network file system
    /// is always refused.
    public var allowsFUSE = false
    /// The cost of a new password's Argon2id.
    public var argon2: Argon2Parameters

    /// The cost of a guess at a keyslot that needs no key service.
    public var offlineArgon2 = OfflineKeyslot.standardCost
    /// For how long after it was online last an account that opens without the network does so. 14 days. It is advice:
    /// whoever has the disk does not use this program.
    public var offlineMaximumAge = Duration.seconds(14 * 86_400)

    /// The app's policy. The machine's policy (`VaultPolicy.machineFile`) applies, too, and the stricter limit wins. To read
    /// the result: `Vault.storage.policy`.
    public var policy = VaultPolicy.standard

    /// Claims of the ID token for a list of accounts, such as `name` and `picture`: see `Account.displayClaims`. They
    /// are stored unsealed: a thief who has the disk can read them. Nil keeps the claims that another program chose.
    /// An empty list removes these claims from each account when the account is opened again.
    ///
    /// Do not name these, as they are always stored unsealed: the subject, `email`, `preferred_username`, the alias,
    /// the scopes, and when the access token ends.
    public var displayClaims: [String]?

    /// What is asked for unless something else is said.
    public static let standardScopes = ["openid", "profile", "email", "offline_access"]

    /// Makes a configuration. Nothing is checked, opened or sent here: the ``Vault`` does that.
    ///
    /// - Parameters:
    ///   - issuer: the issuer URL of the provider, or the base URL of a backend or server. See ``issuer``.
    ///   - clientID: the id of the app at the provider; nil to register a client (RFC 7591). See ``clientID``.
    ///   - keyServiceURL: the base URL of the key service for new accounts. See ``keyServiceURL``.
    ///   - scopes: the scopes to ask for.
    ///   - redirectURI: the address that the provider sends the browser back to; nil for a free port on 127.0.0.1.
    ///   - folder: the folder of the store; nil for `$XDG_DATA_HOME/credential-vault`.
    ///   - argon2: the cost of a new password's Argon2id.
    public init(
        issuer: String? = nil, clientID: String? = nil, keyServiceURL: String? = nil,
        scopes: [String] = standardScopes, redirectURI: String? = nil, folder: String? = nil,
        argon2: Argon2Parameters = .standard
    ) {
        self.issuer = issuer
        self.clientID = clientID
        self.keyServiceURL = keyServiceURL
        self.scopes = scopes
        self.redirectURI = redirectURI
        self.folder = folder
        self.argon2 = argon2
    }
}
