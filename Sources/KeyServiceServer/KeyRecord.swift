public import VaultCrypto

/// What is stored of one key. Nothing in it is secret without the master key and a secret of the key's owner.
public struct KeyRecord: Sendable, Hashable {
    /// How the wrapping key is derived from the secret.
    public enum SecretKind: Sendable, Hashable {
        /// A `cv1.` secret, 256 bits strong already: HKDF.
        case strong
        /// Any other secret: Argon2id of this cost.
        case stretched(Argon2Parameters)
    }

    /// The id, as clients send it.
    public var id: String
    /// When the key was made, in seconds since 1970.
    public var createdAt: Int64
    /// How the secret is turned into a wrapping key.
    public var secretKind: SecretKind
    /// 16 random bytes, for both derivations.
    public var salt: [UInt8]
    /// The key and its long secret, sealed under the secret and the master key.
    public var wrappedBySecret: [UInt8]
    /// The key and its long secret, sealed under the long secret and the master key.
    public var wrappedByLongSecret: [UInt8]

    /// A record as it was stored.
    public init(
        id: String, createdAt: Int64, secretKind: SecretKind, salt: [UInt8], wrappedBySecret: [UInt8],
        wrappedByLongSecret: [UInt8]
    ) {
        self.id = id
        self.createdAt = createdAt
        self.secretKind = secretKind
        self.salt = salt
        self.wrappedBySecret = wrappedBySecret
        self.wrappedByLongSecret = wrappedByLongSecret
    }
}

/// What an operator sees of a key.
public struct KeyRecordSummary: Sendable, Hashable {
    /// The id, as clients send it.
    public var id: String
    /// When the key was made, in seconds since 1970.
    public var createdAt: Int64
    /// When the key was last handed out, in seconds since 1970; nil when it never was.
    public var lastUsedAt: Int64?
    /// The wrong guesses on it.
    public var wrongGuesses: GuessCount
    /// Whether the secret is a `cv1.` one.
    public var secretKind: KeyRecord.SecretKind
}
