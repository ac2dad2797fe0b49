public import FoundationEssentials

/// What the token endpoint gave (RFC 6749 section 5.1). It does not print its tokens.
public struct TokenSet: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The access token: an opaque string for the resource server.
    public var accessToken: String
    /// `Bearer` or `DPoP`, as the provider spelled it.
    public var tokenType: String
    /// When the access token ends, counted from before the request was sent; nil when the provider does not say.
    public var expiresAt: Date?
    /// The granted scopes, separated by spaces; nil means those that were asked for.
    public var scope: String?
    /// The refresh token; nil at a refresh means that the old one stays.
    public var refreshToken: String?
    /// The verified ID token. Never nil after a sign-in.
    public var idToken: IDToken?
    /// The key that was proved (RFC 9449); nil for none. It is what the refresh token, and with the token type `DPoP` the
    /// access token, is bound to. Without it they are worth nothing: keep it as long and as secret as the refresh token.
    ///
    /// How to send the access token is up to ``tokenType``: a Bearer token goes without a proof.
    public var dpopKey: DPoPKey?

    /// Makes a token set, for tests and other token sources.
    public init(
        accessToken: String, tokenType: String = "Bearer", expiresAt: Date? = nil, scope: String? = nil,
        refreshToken: String? = nil, idToken: IDToken? = nil, dpopKey: DPoPKey? = nil
    ) {
        self.accessToken = accessToken
        self.tokenType = tokenType
        self.expiresAt = expiresAt
        self.scope = scope
        self.refreshToken = refreshToken
        self.idToken = idToken
        self.dpopKey = dpopKey
    }

    /// What an answer has in it that can be used.
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

/// A verified ID token (OpenID Connect Core section 2). It does not print what it says about the person.
public struct IDToken: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Who issued it.
    public var issuer: String
    /// The person's identifier at this issuer: 1 to 255 printable ASCII characters.
    public var subject: String
    /// The e-mail address, as the provider wrote it; not necessarily confirmed.
    public var email: String?
    /// The name the person likes to be called by in programs; neither unique nor stable.
    public var preferredUsername: String?
    /// The full name.
    public var name: String?
    /// When the ID token ends. This says nothing about the access token.
    public var expiresAt: Date
    /// When it was issued.
    public var issuedAt: Date
    /// All claims: the verified payload, a JSON object in UTF-8.
    public var claimsJSON: [UInt8]
    /// The signed token as it came, which the provider takes as a hint of who wants to log out; empty if it is not known.
    public var encoded: String

    /// Makes an ID token, for tests and for restoring one that was verified before.
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
