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

    private static let saltSize = 16
    private static let publicKeySize = 32
    /// The kind of ``oprf(endKey:confirmKey:)``. Only its keys have the protocol's version 2.
    package static let oprfKind = 3

    /// The number that stands for the kind in a store.
    package var kind: Int {
        switch self {
        case .strong: 1
        case .stretched: 2
        case .oprf: Self.oprfKind
        }
    }

    /// The values of this kind, in the form for a store.
    package var bytes: [UInt8] {
        switch self {
        case .strong(let salt): salt
        case .stretched(let salt, let cost):
            salt
                + [cost.passes, cost.memoryKiB, cost.lanes].flatMap { number in
                    stride(from: 24, through: 0, by: -8).map { UInt8(truncatingIfNeeded: number >> UInt32($0)) }
                }
        case .oprf(let endKey, let confirmKey): endKey + (confirmKey ?? [])
        }
    }

    /// Reads the form for a store.
    ///
    /// - Parameters:
    ///   - kind: the stored number.
    ///   - bytes: the stored values.
    /// - Throws: ``KeyServiceServerError`` with code `storeUnusable` if they are damaged, or of a newer version.
    package init(kind: Int, bytes: [UInt8]) throws {
        let salt = Array(bytes.prefix(Self.saltSize))
        switch (kind, bytes.count) {
        case (1, Self.saltSize): self = .strong(salt: salt)
        case (2, Self.saltSize + 12):
            let numbers = (0..<3).map { index in
                bytes[(Self.saltSize + 4 * index)...].prefix(4).reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
            }
            self = .stretched(
                salt: salt, Argon2Parameters(passes: numbers[0], memoryKiB: numbers[1], lanes: numbers[2]))
        case (Self.oprfKind, Self.publicKeySize): self = .oprf(endKey: bytes, confirmKey: nil)
        case (Self.oprfKind, 2 * Self.publicKeySize):
            self = .oprf(
                endKey: Array(bytes.prefix(Self.publicKeySize)), confirmKey: Array(bytes.suffix(Self.publicKeySize)))
        default: throw KeyServiceServerError.damagedRecord
        }
    }
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
