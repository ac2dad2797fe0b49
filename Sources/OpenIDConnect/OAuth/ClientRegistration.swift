public import FoundationEssentials

/// What a client says about itself when it registers (RFC 7591 section 2): a native app without a secret.
public struct ClientMetadata: Sendable, Hashable {
    /// What the person reads on the provider's pages.
    public var name: String
    /// Where the browser may be sent back to.
    public var redirectURIs: [String]
    /// Where the browser may be sent after logging out.
    public var postLogoutRedirectURIs: [String]
    /// The scopes that it may ask for; empty to leave that to the provider.
    public var scopes: [String]

    /// Describes a client.
    public init(name: String, redirectURIs: [String], postLogoutRedirectURIs: [String] = [], scopes: [String] = []) {
        self.name = name
        self.redirectURIs = redirectURIs
        self.postLogoutRedirectURIs = postLogoutRedirectURIs
        self.scopes = scopes
    }
}

/// A client as the provider registered it (RFC 7591 section 3.2.1). It does not print its secrets.
public struct RegisteredClient: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The client identifier.
    public var clientID: String
    /// The client secret, if the provider insists on one: to be stored sealed, and given to ``OpenIDProvider``.
    public var clientSecret: String?
    /// When the secret ends; nil for never.
    public var secretExpiresAt: Date?
    /// How the client has to say who it is; nil when the provider does not say.
    public var tokenEndpointAuthMethod: String?
    /// Where the browser may be sent back to; what was asked for when the provider does not say.
    public var redirectURIs: [String]
    /// Where the registration can be read, changed and deleted (RFC 7592), if the provider can.
    public var registrationClientURI: String?
    /// The secret that goes with it.
    public var registrationAccessToken: String?

    /// Makes a registered client, for tests and for restoring a stored one.
    public init(
        clientID: String, clientSecret: String? = nil, secretExpiresAt: Date? = nil,
        tokenEndpointAuthMethod: String? = nil, redirectURIs: [String] = [], registrationClientURI: String? = nil,
        registrationAccessToken: String? = nil
    ) {
        self.clientID = clientID
        self.clientSecret = clientSecret
        self.secretExpiresAt = secretExpiresAt
        self.tokenEndpointAuthMethod = tokenEndpointAuthMethod
        self.redirectURIs = redirectURIs
        self.registrationClientURI = registrationClientURI
        self.registrationAccessToken = registrationAccessToken
    }

    public var description: String { "RegisteredClient(\(clientID))" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: ["clientID": clientID]) }
}
