public import Foundation

/// The secret that is exchanged for access tokens, with everything that belongs to it. It is a refresh token, or the
/// access token of a backend without refresh tokens. It is one sealed item, so its parts stay together. It does not
/// print itself.
public struct Credential: Sendable, Hashable, Codable, CustomReflectable, CustomStringConvertible,
    CustomDebugStringConvertible
{
    /// The refresh token, or the access token of a backend without refresh tokens: an opaque string.
    public var value: String
    /// The granted scopes, separated by spaces; nil if the provider did not say.
    public var scope: String?
    /// The end of an access token that stands for itself; nil if it is not known.
    public var expiresAt: Date?
    /// The client secret, of the configured client or of a client that was registered for this account (RFC 7591).
    public var clientSecret: String?
    /// The registered way to use the client secret (RFC 7591 section 2); nil to use what the provider announces.
    public var clientAuthenticationMethod: String?
    /// The private key that the tokens are bound to (RFC 9449), as `DPoPKey.rawRepresentation`.
    public var proofKey: [UInt8]?
    /// True for an access token that stands for itself and cannot be exchanged.
    public var isAccessToken: Bool?

    /// Makes a credential.
    ///
    /// - Parameters:
    ///   - value: the refresh token, or the access token that stands for itself.
    ///   - scope: the granted scopes, separated by spaces; nil when that was not said.
    ///   - expiresAt: when it ends; nil when that is not known.
    ///   - clientSecret: the secret of the client; nil for a public client.
    ///   - clientAuthenticationMethod: how the client uses its secret (RFC 7591 section 2).
    ///   - proofKey: the private key that the tokens are bound to (RFC 9449); nil for none.
    ///   - isAccessToken: true for an access token that stands for itself.
    public init(
        value: String, scope: String? = nil, expiresAt: Date? = nil, clientSecret: String? = nil,
        clientAuthenticationMethod: String? = nil, proofKey: [UInt8]? = nil, isAccessToken: Bool? = nil
    ) {
        self.value = value
        self.scope = scope
        self.expiresAt = expiresAt
        self.clientSecret = clientSecret
        self.clientAuthenticationMethod = clientAuthenticationMethod
        self.proofKey = proofKey
        self.isAccessToken = isAccessToken
    }

    public var description: String { "Credential" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: []) }
}
