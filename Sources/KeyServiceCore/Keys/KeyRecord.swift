package import VaultCrypto

/// The stored record of a key. Its content is safe without the master key and a secret of the key's owner.
package struct KeyRecord: Sendable, Hashable {
    /// The id of the key, as clients send it.
    package var id: String
    /// The time when the key was made, in seconds since 1970.
    package var createdAt: Int64
    /// The kind of the key, with its public values.
    package var details: KeyDetails
    /// The master key that the content is sealed under.
    package var masterKeyID: MasterKeyID
    /// The sealed key. Only the service knows the form.
    package var content: [UInt8]

    /// Makes a record from its stored parts.
    package init(id: String, createdAt: Int64, details: KeyDetails, masterKeyID: MasterKeyID, content: [UInt8]) {
        self.id = id
        self.createdAt = createdAt
        self.details = details
        self.masterKeyID = masterKeyID
        self.content = content
    }
}

/// The kind of a key, with the public values that its kind needs. A store keeps ``kind`` and ``bytes`` as they are, so
/// a new kind needs no new columns.
package enum KeyDetails: Sendable, Hashable {
    /// A key for a `cv1.` secret with its 256 bits, which needs no stretching. `salt`: 16 random bytes.
    case strong(salt: [UInt8])
    /// A key for any other secret. Argon2id of this cost stretches the secret. `salt`: 16 random bytes.
    case stretched(salt: [UInt8], Argon2Parameters)
    /// A key of the protocol's version 2. `endKey`: the public key that can end it, 32 bytes. `confirmKey`: the public
    /// key that confirms guesses, 32 bytes; nil for a key that was not confirmed yet.
    case oprf(endKey: [UInt8], confirmKey: [UInt8]?)
}

/// The name of a master key: 8 bytes that are derived from the key. The name is no secret.
package struct MasterKeyID: Sendable, Hashable, CustomStringConvertible {
    /// The bytes as a number.
    package let rawValue: UInt64

    /// Makes a name from its stored number.
    package init(rawValue: UInt64) {
        self.rawValue = rawValue
    }

    /// 16 hexadecimal digits.
    package var description: String {
        let digits = String(rawValue, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}
