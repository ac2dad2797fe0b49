public import OpenIDConnect
public import VaultCrypto
public import VaultHTTP

extension Auth {
    /// What a login needs to know.
    public struct Settings: Sendable {
        /// The provider's issuer URL; for a backend or server its base URL. Empty for an app that only opens accounts that
        /// exist, of every issuer.
        public var issuer: String
        /// The client's id there; nil or empty to register a client (RFC 7591).
        public var clientID: String?
        /// The secret of the client ``clientID``, in printable ASCII; nil for a public client. It is sent to ``issuer``
        /// alone, and it is sealed with the account's token, so a renewal does not need this setting.
        public var clientSecret: SharedSecret?
        /// The scopes asked for.
        public var scopes: [String]
        /// Where the browser is sent back to; nil for a free port on 127.0.0.1.
        public var redirectURI: String?
        /// What a sign-in at an OpenID provider asks for, unless the sign-in itself says something else.
        public var parameters = SignInParameters()
        /// What a client that is registered calls itself in front of the person.
        public var clientName: String
        /// Whether to register a new client although one was registered before.
        public var registersAnew = false
        /// Whether tokens are bound to a key (RFC 9449) where the provider announces it.
        public var usesDPoP = true
        /// How long a call to the provider or backend may take.
        public var limits = HTTPLimits()

        /// Makes settings. Nothing is checked or sent here: a sign-in does that.
        ///
        /// - Parameters:
        ///   - issuer: the issuer URL of the provider, or the base URL of a backend or server. See ``issuer``.
        ///   - clientID: the id of the client there; nil or empty to register a client (RFC 7591).
        ///   - scopes: the scopes to ask for.
        ///   - redirectURI: the address that the browser is sent back to; nil for a free port on 127.0.0.1.
        ///   - clientName: the name of a registered client, for the person.
        public init(
            issuer: String, clientID: String?, scopes: [String], redirectURI: String?,
            clientName: String = "Credential Vault"
        ) {
            self.issuer = issuer
            self.clientID = clientID
            self.scopes = scopes
            self.redirectURI = redirectURI
            self.clientName = clientName
        }
    }
}
