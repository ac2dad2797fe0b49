public import Logging
public import OpenIDConnect
public import VaultAuth
public import VaultBackends
public import VaultCrypto
public import VaultStorage
public import VaultUnlock

#if Networking
    public import VaultNetworking
#endif

/// The settings of a ``Vault``.
public struct VaultConfiguration: Sendable {
    /// The identity provider's issuer URL, exactly as the provider writes it, or the base URL of a backend or server.
    /// Needed to register. If it is set, only this issuer's accounts are found.
    public var issuer: String?
    /// The app's client id at the provider, for a client with PKCE. The client is public unless ``clientSecret`` is
    /// set. Nil to register a client (RFC 7591), or to use the one that was registered before.
    public var clientID: String?
    /// The secret of the client ``clientID``, in printable ASCII; nil if the provider issued none. It is sealed with
    /// each account's token, so only a sign-in needs it. A secret without a client id is `configurationInvalid` at a
    /// sign-in that needs a client. A secret in an app that others can read protects nothing.
    public var clientSecret: SharedSecret?
    /// The parameters of a sign-in at an OpenID provider, unless the sign-in has its own.
    public var signInParameters = SignInParameters()
    /// The name that a newly registered client shows to the person.
    public var clientName = "Credential Vault"
    /// Whether to register a new client even if one was registered before.
    public var registersClientAnew = false
    /// Whether a person may register at a backend or server on the local network that has only plain `http`. Ask the
    /// person: anybody in that network can read the password and the tokens, and change the answers. The account keeps
    /// the permission: see `AccountID.usesInsecureHTTP`. It does not count for an OpenID provider or a key service.
    public var allowsInsecureHTTP = false
    /// The token endpoint that renews the tokens of `setTokens`, at a server without discovery. It stands in place of
    /// ``issuer`` and ``clientID``; nil for an OpenID provider.
    public var tokenEndpoint: OAuthTokenEndpoint?
    /// The base URL of the key service for new accounts. An account keeps the key service that it was registered with.
    /// Nil if the app registers nobody, or with ``registersWithoutKeyService``.
    public var keyServiceURL: String?
    /// Whether new accounts have no key service: for one person on one machine. Then ``keyServiceURL`` is nil.
    ///
    /// Hardware counts wrong PINs, or the password alone opens the account, and a thief who has the disk can try
    /// passwords without limit (``offlineArgon2`` for each). Nobody can end an unlock method of a stolen machine or of
    /// an old copy. So use a key service on a machine that people share, and tell the person what this costs. Without a
    /// key service there is no PIN of the account's own, no recovery code, no list of devices and no desktop keyring.
    /// `StorageProtocol.moveToKeyService(_:with:)` moves such an account to a key service later.
    public var registersWithoutKeyService = false
    /// The lowest version of the key service's protocol for new accounts. Set it to 1 for a key service that has only
    /// version 1: recorded traffic and the disk together can then test passwords. An existing account of version 1 still
    /// opens. An app's own `KeyService` without an `OPRFKeyService` has version 1 in any case.
    public var keyServiceProtocol = 2
    /// The requested scopes.
    public var scopes: [String]
    /// The URL to which the provider sends the browser; nil for a free port on 127.0.0.1.
    public var redirectURI: String?
    /// Whether to bind tokens to a key if the provider announces it (DPoP, RFC 9449).
    public var usesDPoP = true
    /// The time limits for servers.
    public var limits = TimeLimits()
    /// The log of sign-ins, locks, refreshes, kinds of tokens, and calls to servers. Nothing secret is logged at any
    /// level. By default nothing is logged. You can also give this logger to another library that needs one.
    public var logger = Logger.silent
    #if Networking
        /// Certificate authorities to trust in addition to the system's, such as a company's own. Not used with an
        /// app's own transport.
        public var certificateFile: CertificateFile?
        /// The only certificate authorities to trust at some hosts, in place of the system's and of
        /// ``certificateFile``. The key is the name or address of the host, without a port. Not used with an app's own
        /// transport.
        public var hostCertificateFiles: [String: CertificateFile] = [:]
    #endif
    /// The names of paths and fields at a backend that is not an OpenID provider. An account keeps the layout that it
    /// was registered with.
    public var backend = BackendLayout()
    /// The error that ``backend`` causes. Only a sign-in or renewal that needs the layout throws it.
    package var backendProblem: VaultError?
    /// The folder of the store; nil for `$XDG_DATA_HOME/credential-vault` (`~/.local/share/credential-vault`).
    public var folder: String?
    /// Whether that folder may be on a FUSE file system that only this machine uses. A store on a network file system
    /// is always refused.
    public var allowsFUSE = false
    /// The cost of a new password's Argon2id.
    public var argon2: Argon2Parameters

    /// The cost of a guess at a keyslot that needs no key service.
    public var offlineArgon2 = Argon2Parameters.withoutKeyService
    /// The longest time without the network in which an account opens. 14 days by default. The limit does not stop a
    /// thief who has the disk.
    public var offlineMaximumAge = Duration.seconds(14 * 86_400)

    /// The app's policy. The machine's policy (`VaultPolicy.machineFile`) applies, too, and the stricter limit wins. To
    /// read the result: `Vault.storage.policy`.
    public var policy = VaultPolicy.standard

    /// Claims of the ID token for a list of accounts, such as `name` and `picture`: see `Account.displayClaims`. They
    /// are stored unsealed: a thief who has the disk can read them. Nil keeps the claims that another program chose.
    /// An empty list removes these claims from each account when the account is opened again.
    ///
    /// Do not name these, as they are always stored unsealed: the subject, `email`, `preferred_username`, the alias,
    /// the scopes, and when the access token ends.
    public var displayClaims: [String]?

    /// Whether each login and renewal may send an access token to the key service, to list this device there. Then the
    /// person can see and revoke it from another machine: see `Session.devices`. Once a person has asked for the list
    /// here, the new keys of this device are listed in any case.
    public var listsDevices = false

    /// The audience of the access tokens for the key service (RFC 8707). The vault asks the provider for a token that
    /// is only for the key service, and sends no other token. So somebody who runs the key service cannot use the token
    /// elsewhere.
    public var keyServiceAudience = KeyServiceAudience.keyServiceURL

    /// The scopes that are requested by default.
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
