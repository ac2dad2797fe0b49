/// What the provider says about a person now (OpenID Connect Core section 5.3). It does not print that.
public struct UserInfo: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The person's identifier at the issuer; it was compared with the expected one.
    public var subject: String
    /// The e-mail address, as the provider wrote it.
    public var email: String?
    /// Whether the provider made sure that the address is the person's; nil when it does not say.
    public var emailVerified: Bool?
    /// The name the person likes to be called by in programs; neither unique nor stable.
    public var preferredUsername: String?
    /// The full name.
    public var name: String?
    /// All claims, a JSON object in UTF-8.
    public var claimsJSON: [UInt8]

    /// Makes user information, for tests.
    public init(
        subject: String, email: String? = nil, emailVerified: Bool? = nil, preferredUsername: String? = nil,
        name: String? = nil, claimsJSON: [UInt8] = Array("{}".utf8)
    ) {
        self.subject = subject
        self.email = email
        self.emailVerified = emailVerified
        self.preferredUsername = preferredUsername
        self.name = name
        self.claimsJSON = claimsJSON
    }

    public var description: String { "UserInfo" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: []) }
}
