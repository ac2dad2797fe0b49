public import VaultCrypto

/// The stored record of a key. Its content is safe without the master key and a secret of the key's owner.
public struct KeyRecord: Sendable, Hashable {
    /// The derivation of the wrapping key from the secret.
    public enum SecretKind: Sendable, Hashable {
        /// HKDF, for a `cv1.` secret with its 256 bits.
        case strong
        /// Argon2id of this cost, for any other secret.
        case stretched(Argon2Parameters)
    }

    /// The id of the key, as clients send it.
    public var id: String
    /// The time when the key was made, in seconds since 1970.
    public var createdAt: Int64
    /// The derivation of the wrapping key.
    public var secretKind: SecretKind
    /// 16 random bytes, for both derivations.
    public var salt: [UInt8]
    /// The key and its long secret, sealed under the secret and the master key.
    public var wrappedBySecret: [UInt8]
    /// The key and its long secret, sealed under the long secret and the master key.
    public var wrappedByLongSecret: [UInt8]

    /// Makes a record from its stored parts.
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

/// An operator's view of a key.
public struct KeyRecordSummary: Sendable, Hashable {
    /// The id of the key, as clients send it.
    public var id: String
    /// The time when the key was made, in seconds since 1970.
    public var createdAt: Int64
    /// The time when the key was last given out, in seconds since 1970; nil for never.
    public var lastUsedAt: Int64?
    /// The wrong guesses on the key.
    public var wrongGuesses: GuessCount
    /// The kind of the key's secret.
    public var secretKind: KeyRecord.SecretKind
}
