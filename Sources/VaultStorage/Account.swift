public import Foundation
public import VaultCrypto

/// Who an account belongs to, as OpenID Connect names it: a subject is unique only within its issuer.
public struct AccountID: Hashable, Sendable, Codable, CustomStringConvertible {
    /// The issuer (`iss`): the provider's URL, exactly as the provider writes it.
    public let issuer: String
    /// The subject (`sub`): the provider's name for the person, often not readable.
    public let subject: String

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
    /// Set while a refresh is under way. Found set later, it tells an interrupted refresh from an expired token.
    public var refreshStartedAt: Date?
    /// The ways to the vault key. Staged ones are not among them.
    public var keyslots: [Keyslot]
    /// What is stored as a way to the vault key and was damaged: it opens nothing, and keeps the others from nothing.
    public var damagedKeyslots: [DamagedKeyslot] = []

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

/// A keyslot whose stored bytes are not those that were written, as far as it can be told which one it was.
public struct DamagedKeyslot: Sendable, Hashable {
    public let id: String
    public let kind: Keyslot.Kind
    /// The id of its key at the key service, as it is stored now; nil when that cannot be read.
    public let keyID: String?

    public init(id: String, kind: Keyslot.Kind, keyID: String? = nil) {
        self.id = id
        self.kind = kind
        self.keyID = keyID
    }
}

/// One way to the vault key: the vault key sealed under this slot's own key.
public struct Keyslot: Sendable, Hashable {
    /// What opens a keyslot.
    public struct Kind: RawRepresentable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        /// A password, with its key at the key service.
        public static let password = Kind(rawValue: "password")
        /// A PIN, likewise.
        public static let pin = Kind(rawValue: "pin")
        /// A recovery code, likewise; used once.
        public static let recovery = Kind(rawValue: "recovery")
        /// The password without the key service, for when there is no network.
        public static let offline = Kind(rawValue: "offline")
        /// A PKCS#11 token, and the long secret of a key at the key service under it.
        public static let pkcs11 = Kind(rawValue: "pkcs11")
        /// A TPM 2.0, likewise.
        public static let tpm2 = Kind(rawValue: "tpm2")
        /// A FIDO2 security key, likewise.
        public static let fido2 = Kind(rawValue: "fido2")
    }

    /// Whether the key service has a say in opening it: counts guesses, can end it.
    public var needsKeyService: Bool { !keyID.isEmpty }

    /// A random id; part of what the slot's key is derived from.
    public let id: String
    public let kind: Kind
    /// The salt of this slot's Argon2id, 16 bytes; empty where hardware opens it.
    public let salt: [UInt8]
    /// The cost of this slot's Argon2id.
    public let argon2: Argon2Parameters
    /// The id of this slot's key at the key service; empty where none is needed.
    public let keyID: String
    /// The vault key in a ``SealedEnvelope``.
    public let wrapped: [UInt8]
    public let createdAt: Date
    /// What the person calls it; nil for what the kind says already.
    public var label: String?
    /// When it last opened the account on this machine.
    public var lastUsedAt: Date?
    /// What hardware needs to open it; empty where a person types the secret. The slot opens only with exactly these bytes.
    public let protection: [UInt8]

    public init(
        id: String, kind: Kind, salt: [UInt8], argon2: Argon2Parameters, keyID: String, wrapped: [UInt8],
        createdAt: Date, label: String? = nil, lastUsedAt: Date? = nil, protection: [UInt8] = []
    ) {
        self.id = id
        self.kind = kind
        self.salt = salt
        self.argon2 = argon2
        self.keyID = keyID
        self.wrapped = wrapped
        self.createdAt = createdAt
        self.label = label
        self.lastUsedAt = lastUsedAt
        self.protection = protection
    }
}

/// The name of a sealed item within an account.
public struct ItemName: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    public let rawValue: String
    private let isOfVault: Bool

    /// The name of an app's own item. One that begins with `vault/` is only good for reading.
    public init(rawValue: String) {
        self.rawValue = rawValue
        isOfVault = false
    }

    private init(ofVault name: String) {
        rawValue = name
        isOfVault = true
    }

    public var description: String { rawValue }

    public static func == (first: ItemName, second: ItemName) -> Bool { first.rawValue == second.rawValue }
    public func hash(into hasher: inout Hasher) { hasher.combine(rawValue) }

    /// What is exchanged for access tokens, a refresh token mostly, with what has to go with it.
    public static let refreshToken = ItemName(ofVault: "vault/refresh-token")
    /// The last access token, with its expiry.
    public static let accessToken = ItemName(ofVault: "vault/access-token")
    /// The verified claims of the last ID token, as JSON.
    public static let idTokenClaims = ItemName(ofVault: "vault/id-token-claims")

    /// The last ID token as it was signed: the hint for logging out at the provider.
    public static let idToken = ItemName(ofVault: "vault/id-token")

    /// Whether the vault itself keeps this item. An app's own items must not begin with `vault/`.
    public var isReserved: Bool { rawValue.utf8.starts(with: "vault/".utf8) }

    /// Refuses a name that an app made up in the vault's own space: its item could take the place of a token.
    ///
    /// - Throws: ``StoreError`` with code `reservedName`.
    package func requireWritable() throws {
        guard isReserved, !isOfVault else { return }
        throw StoreError(.reservedName, "Names that begin with vault/ are the vault's own. Choose another name.")
    }
}
