public import Foundation

/// What is exchanged for access tokens: a refresh token, or where there is none the access token itself, with what has
/// to go with it. It is one sealed item, so that its parts are never apart. It does not print itself.
public struct Credential: Sendable, Hashable, Codable, CustomReflectable, CustomStringConvertible,
    CustomDebugStringConvertible
{
    /// The refresh token, or the access token of a backend that issues no other: an opaque string.
    public var value: String
    /// What it was granted for, separated by spaces; nil when that was not said.
    public var scope: String?
    /// When it ends, where that is known: for an access token that stands for itself.
    public var expiresAt: Date?
    /// The secret of the client: of the configured one, or of one that was registered for this account alone (RFC 7591).
    public var clientSecret: String?
    /// How that client was registered to use its secret (RFC 7591 section 2); nil to go by what the provider announces.
    public var clientAuthenticationMethod: String?
    /// The private key that the tokens are bound to (RFC 9449), as `DPoPKey.rawRepresentation`.
    public var proofKey: [UInt8]?
    /// True when it is an access token that stands for itself, and nothing can be had for it.
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
