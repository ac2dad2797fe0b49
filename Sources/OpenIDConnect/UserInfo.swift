/// The provider's current information about a person (OpenID Connect Core section 5.3). It does not print itself.
public struct UserInfo: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The person's identifier at the issuer; compared with the expected one.
    public var subject: String
    /// The e-mail address, as the provider wrote it.
    public var email: String?
    /// Whether the provider confirmed that the address is the person's; nil if it does not say.
    public var emailVerified: Bool?
    /// The person's preferred name in programs; neither unique nor stable.
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
