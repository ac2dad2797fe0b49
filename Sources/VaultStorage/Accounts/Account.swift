public import Foundation
internal import VaultCrypto

/// Who an account belongs to, as OpenID Connect names it: a subject is unique only within its issuer.
public struct AccountID: Hashable, Sendable, Codable, CustomStringConvertible {
    /// The issuer (`iss`): the provider's URL, exactly as the provider writes it.
    public let issuer: String
    /// The subject (`sub`): the provider's name for the person, often not readable.
    public let subject: String

    /// Makes the id of an account.
    ///
    /// - Parameters:
    ///   - issuer: the issuer (`iss`), exactly as the provider writes it.
    ///   - subject: the subject (`sub`).
    public init(issuer: String, subject: String) {
        self.issuer = issuer
        self.subject = subject
    }

    public var description: String { "\(subject) at \(issuer)" }

    /// What the names of an account's records begin with: they go when the account goes.
    public var recordPrefix: String {
        let digest = Checksum.of([Array(issuer.utf8), Array(subject.utf8)])
        return "account/" + digest.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() + "/"
    }
}

/// What is stored of one account in the clear: what is needed to find it and to ask for its key.
public struct Account: Sendable, Hashable, CustomReflectable, CustomStringConvertible, CustomDebugStringConvertible {
    /// The id of the account: issuer and subject.
    public let id: AccountID
    /// A name that the person chose for `--user`.
    public var alias: String?
    /// The e-mail address of the last ID token.
    public var email: String?
    /// The `preferred_username` of the last ID token.
    public var preferredUsername: String?
    /// How the account signs in.
    public var method: SignInMethod
    /// The client that registered the account; refreshing needs the same one. Empty where the method has none.
    public var clientID: String
    /// What the paths and fields of its backend are called. Nil for a method without a layout, and for an account that
    /// was registered before layouts were stored: that one goes by the program's settings.
    public var layout: StoredLayout?
    /// The base URL of the key service that holds the account's keys.
    public var keyServiceURL: String
    /// 32 random bytes that go into every Argon2id of this account and are never at the key service: whoever has only
    /// the service's database cannot test a password.
    public let deviceSecret: [UInt8]
    /// When the account was registered first.
    public let createdAt: Date
    /// When the provider last confirmed the account: how long it may be opened without the network counts from here.
    public var lastOnlineAt: Date?
    /// What the provider granted (RFC 6749 section 3.3), separated by spaces; nil when it did not say.
    public var grantedScope: String?
    /// When the stored access token ends; nil when none is stored, or the provider did not say.
    public var accessTokenExpiresAt: Date?
    /// Claims of the ID token that a list of accounts shows without opening them, as text: see
    /// `VaultConfiguration.displayClaims`. They lie unsealed on the disk. Empty unless an app chose some.
    public var displayClaims: [String: String] = [:]
    /// Set while a refresh is under way. Found set later, it tells an interrupted refresh from an expired token.
    public var refreshStartedAt: Date?
    /// The ways to the vault key. Staged ones are not among them.
    public var keyslots: [Keyslot]
    /// What is stored as a way to the vault key and was damaged: it opens nothing, and keeps the others from nothing.
    public var damagedKeyslots: [DamagedKeyslot] = []

    /// Makes an account, for a store to fill in.
    ///
    /// - Parameters:
    ///   - id: the issuer and subject.
    ///   - alias: the name that the person chose.
    ///   - email: the e-mail address of the last ID token.
    ///   - preferredUsername: the `preferred_username` of the last ID token.
    ///   - method: how the account signs in.
    ///   - clientID: the client that registered the account; empty if the method has no clients.
    ///   - layout: the names of the paths and fields of its backend.
    ///   - keyServiceURL: the base URL of the key service that holds its keys.
    ///   - deviceSecret: 32 random bytes.
    ///   - createdAt: when the account was registered first.
    ///   - lastOnlineAt: when the provider last confirmed the account.
    ///   - refreshStartedAt: when the refresh began that is under way; nil for none.
    ///   - keyslots: the ways to the vault key, without staged ones.
    public init(
        id: AccountID, alias: String? = nil, email: String? = nil, preferredUsername: String? = nil,
        method: SignInMethod = .openIDConnect, clientID: String, layout: StoredLayout? = nil, keyServiceURL: String,
        deviceSecret: [UInt8], createdAt: Date, lastOnlineAt: Date? = nil, refreshStartedAt: Date? = nil,
        keyslots: [Keyslot] = []
    ) {
        self.id = id
        self.alias = alias
        self.email = email
        self.preferredUsername = preferredUsername
        self.method = method
        self.clientID = clientID
        self.layout = layout
        self.keyServiceURL = keyServiceURL
        self.deviceSecret = deviceSecret
        self.createdAt = createdAt
        self.lastOnlineAt = lastOnlineAt
        self.refreshStartedAt = refreshStartedAt
        self.keyslots = keyslots
    }

    /// What to call the account in front of a person.
    public var displayName: String { alias ?? preferredUsername ?? email ?? id.subject }

    /// The keyslot that a password opens.
    public var passwordKeyslot: Keyslot? { keyslot(.password) }

    /// The keyslot of a kind of which there is one at most, or the first of several.
    public func keyslot(_ kind: Keyslot.Kind) -> Keyslot? { keyslots.first { $0.kind == kind } }

    public var description: String { "Account(\(id))" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: ["id": id]) }
}
