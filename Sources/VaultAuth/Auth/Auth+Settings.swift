public import OpenIDConnect
public import VaultCrypto
public import VaultHTTP

extension Auth {
    /// The settings of a login.
    public struct Settings: Sendable {
        /// The provider's issuer URL, or the base URL of a backend or server. Empty for an app that only opens existing
        /// accounts, of any issuer.
        public var issuer: String
        /// The client id at the issuer; nil or empty to register a client (RFC 7591).
        public var clientID: String?
        /// The secret of the client ``clientID``, in printable ASCII; nil for a public client. Only ``issuer`` gets it.
        /// It is sealed with the account's token, so a renewal does not need this setting.
        public var clientSecret: SharedSecret?
        /// The requested scopes.
        public var scopes: [String]
        /// The URL to which the browser returns; nil for a free port on 127.0.0.1.
        public var redirectURI: String?
        /// The parameters of a sign-in at an OpenID provider, unless the sign-in has its own.
        public var parameters = SignInParameters()
        /// The name that a newly registered client shows to the person.
        public var clientName: String
        /// Whether to register a new client even if one was registered before.
        public var registersAnew = false
        /// Whether ``issuer`` is the URL of a token endpoint, and not of a provider with discovery: see
        /// ``OAuthTokenEndpoint``.
        public var isTokenEndpoint = false
        /// Whether a sign-in at a backend or server may use plain `http` on the local network. An OpenID provider never
        /// may. The new account keeps the permission.
        public var allowsInsecureHTTP = false
        /// Whether to bind tokens to a key (RFC 9449) if the provider announces it.
        public var usesDPoP = true
        /// The limits of a call to the provider or backend.
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
