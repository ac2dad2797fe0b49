public import FoundationEssentials

/// The tokens from the token endpoint (RFC 6749 section 5.1). It does not print its tokens.
public struct TokenSet: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The access token: an opaque string for the resource server.
    public var accessToken: String
    /// `Bearer` or `DPoP`, as the provider spelled it.
    public var tokenType: String
    /// The time when the access token expires, counted from before the request; nil if the provider does not say.
    public var expiresAt: Date?
    /// The granted scopes, separated by spaces; nil means the requested scopes.
    public var scope: String?
    /// The refresh token; nil after a refresh means that the old one stays valid.
    public var refreshToken: String?
    /// The verified ID token. Never nil after a sign-in.
    public var idToken: IDToken?
    /// What the server's answer says about the person; nil for a provider whose ID token says it.
    public var userInfo: UserInfo?
    /// The key that the refresh token is bound to (RFC 9449); nil for none. With the token type `DPoP`, the access
    /// token is bound to it, too. Bound tokens are useless without the key: keep it as long and as secret as the
    /// refresh token.
    ///
    /// ``tokenType`` decides how to send the access token: a Bearer token goes without a proof.
    public var dpopKey: DPoPKey?

    /// Makes a token set, for tests and other token sources.
    public init(
        accessToken: String, tokenType: String = "Bearer", expiresAt: Date? = nil, scope: String? = nil,
        refreshToken: String? = nil, idToken: IDToken? = nil, userInfo: UserInfo? = nil, dpopKey: DPoPKey? = nil
    ) {
        self.accessToken = accessToken
        self.tokenType = tokenType
        self.expiresAt = expiresAt
        self.scope = scope
        self.refreshToken = refreshToken
        self.idToken = idToken
        self.userInfo = userInfo
        self.dpopKey = dpopKey
    }

    /// Takes the usable tokens out of an answer.
    package init(_ answer: TokenAnswer, dpopKey: DPoPKey? = nil) {
        self.init(
            accessToken: answer.accessToken, tokenType: answer.tokenType, expiresAt: answer.expiresAt,
            scope: answer.scope, refreshToken: answer.refreshToken, dpopKey: dpopKey)
    }

    public var description: String {
        "TokenSet(\(tokenType), refreshToken: \(refreshToken != nil), idToken: \(idToken != nil))"
    }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// A verified ID token (OpenID Connect Core section 2). It does not print the claims.
public struct IDToken: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The provider that issued the token.
    public var issuer: String
    /// The person's identifier at this issuer: 1 to 255 printable ASCII characters.
    public var subject: String
    /// The e-mail address, as the provider wrote it; not necessarily confirmed.
    public var email: String?
    /// The person's preferred name in programs; neither unique nor stable.
    public var preferredUsername: String?
    /// The full name.
    public var name: String?
    /// The time when the ID token expires, which says nothing about the access token.
    public var expiresAt: Date
    /// The time when the ID token was issued.
    public var issuedAt: Date
    /// All claims: the verified payload, a JSON object in UTF-8.
    public var claimsJSON: [UInt8]
    /// The signed token as it came; empty if unknown. At logout it tells the provider who logs out.
    public var encoded: String

    /// Makes an ID token, for tests and for restoring a verified one.
    public init(
        issuer: String, subject: String, email: String? = nil, preferredUsername: String? = nil, name: String? = nil,
        expiresAt: Date, issuedAt: Date, claimsJSON: [UInt8], encoded: String = ""
    ) {
        self.issuer = issuer
        self.subject = subject
        self.email = email
        self.preferredUsername = preferredUsername
        self.name = name
        self.expiresAt = expiresAt
        self.issuedAt = issuedAt
        self.claimsJSON = claimsJSON
        self.encoded = encoded
    }

    public var description: String { "IDToken(issuer: \(issuer))" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: ["issuer": issuer]) }
}
