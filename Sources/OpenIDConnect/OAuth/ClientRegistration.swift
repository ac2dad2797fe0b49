public import FoundationEssentials

/// The description of a client that registers itself (RFC 7591 section 2): a native app without a secret.
public struct ClientMetadata: Sendable, Hashable {
    /// The client's name on the provider's pages.
    public var name: String
    /// The addresses that the provider may send the browser back to.
    public var redirectURIs: [String]
    /// The addresses that the provider may send the browser to after logging out.
    public var postLogoutRedirectURIs: [String]
    /// The scopes that the client may ask for; empty to leave them to the provider.
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
    /// The client secret, if the provider insists on one. Store it sealed, and give it to ``OpenIDProvider``.
    public var clientSecret: String?
    /// The time when the secret expires; nil for never.
    public var secretExpiresAt: Date?
    /// The method of client authentication; nil if the provider names none.
    public var tokenEndpointAuthMethod: String?
    /// The redirect addresses that the provider registered. If its answer lists none, the requested ones.
    public var redirectURIs: [String]
    /// The address for reading, changing and deleting the registration (RFC 7592); nil if there is none.
    public var registrationClientURI: String?
    /// The secret for requests to ``registrationClientURI``.
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
