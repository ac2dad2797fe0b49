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

// The form of these values in a store. All stores share it.
extension KeyDetails {
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

// The content of a record. The master key seals it, so that the master key can change without a secret of the owner.
extension KeyRecord {
    /// Opens an envelope of the content. Its error `storeUnusable` must not look like a wrong guess.
    fileprivate func open(_ envelope: [UInt8], _ purpose: String, _ masterKeys: MasterKeys) throws -> SecretBytes {
        do {
            return try SealedEnvelope.open(
                envelope, key: masterKeys.masterKey(masterKeyID).recordKey, context: Self.context(purpose, id))
        } catch let error as VaultCryptoError where error.code != .outOfMemory {
            throw KeyServiceServerError(.storeUnusable, "A record in the database is damaged.", underlying: error)
        }
    }

    fileprivate static func context(_ purpose: String, _ keyID: String) -> SealingContext {
        SealingContext(
            purpose: "credential-vault/key-service/v2/" + purpose, issuer: "", subject: "", id: "", keyID: keyID)
    }

    /// Returns the record with the same content under the current master key.
    func resealed(_ masterKeys: MasterKeys) throws -> KeyRecord {
        var resealed = self
        resealed.content =
            details.kind == KeyDetails.oprfKind
            ? try OPRFContent.resealed(self, masterKeys)
            : try RecordContent(of: self, masterKeys).sealed(keyID: id, masterKeys.current)
        resealed.masterKeyID = masterKeys.current.id
        return resealed
    }
}

/// The content of a version 1 record: the key and its long secret, sealed twice. One envelope opens with the secret,
/// the other with the long secret.
struct RecordContent {
    var bySecret: [UInt8]
    var byLongSecret: [UInt8]
}

extension RecordContent {
    private static let purpose = "record"

    /// Opens the content of a record.
    ///
    /// - Throws: ``KeyServiceServerError`` with code `storeUnusable` if it is damaged or its master key is missing.
    init(of record: KeyRecord, _ masterKeys: MasterKeys) throws {
        let both = try record.open(record.content, Self.purpose, masterKeys).withUnsafeBytes { Array($0) }
        // Both envelopes have the same size, as the same bytes are inside.
        bySecret = Array(both[..<(both.count / 2)])
        byLongSecret = Array(both[(both.count / 2)...])
    }

    func sealed(keyID: String, _ masterKey: MasterKey) throws -> [UInt8] {
        try (bySecret + byLongSecret).withUnsafeBytes {
            try SealedEnvelope.seal($0, key: masterKey.recordKey, context: KeyRecord.context(Self.purpose, keyID))
        }
    }
}

/// The content of a version 2 record: the request key and the key of the oblivious function, each in an envelope. Both
/// envelopes have the same size. The function's key comes last, so that a store can erase it without the master key.
enum OPRFContent {
    private static let requestKeyPurpose = "request-key"
    private static let keyPurpose = "oblivious-key"

    /// Seals both keys for a new record.
    static func sealed(
        requestKey: borrowing SecretBytes, key: borrowing SecretBytes, keyID: String, _ masterKey: MasterKey
    ) throws -> [UInt8] {
        try seal(requestKey, requestKeyPurpose, keyID, masterKey) + seal(key, keyPurpose, keyID, masterKey)
    }

    /// Opens the key that authenticates requests. A key that was ended still has it.
    ///
    /// - Throws: ``KeyServiceServerError`` with code `storeUnusable`, as ``RecordContent/init(of:_:)``.
    static func requestKey(of key: StoredKey, _ masterKeys: MasterKeys) throws -> SecretBytes {
        let content = key.record.content
        let envelope = key.state.isFinal ? content : withoutKey(content)
        return try key.record.open(envelope, requestKeyPurpose, masterKeys)
    }

    /// Opens the key of the oblivious function.
    ///
    /// - Throws: as ``requestKey(of:_:)``.
    static func key(of key: StoredKey, _ masterKeys: MasterKeys) throws -> SecretBytes {
        let content = key.record.content
        return try key.record.open(Array(content.suffix(content.count / 2)), keyPurpose, masterKeys)
    }

    /// Returns the content without the key of the oblivious function.
    static func withoutKey(_ content: [UInt8]) -> [UInt8] { Array(content.prefix(content.count / 2)) }

    /// Seals the content of a record again, under the current master key.
    static func resealed(_ record: KeyRecord, _ masterKeys: MasterKeys) throws -> [UInt8] {
        let (id, master) = (record.id, masterKeys.current)
        // Only an ended record has one envelope. The first envelope tells its own size.
        if let requestKey = try? record.open(record.content, requestKeyPurpose, masterKeys) {
            return try seal(requestKey, requestKeyPurpose, id, master)
        }
        let live = StoredKey(record: record)
        return try sealed(
            requestKey: requestKey(of: live, masterKeys), key: key(of: live, masterKeys), keyID: id, master)
    }

    private static func seal(
        _ key: borrowing SecretBytes, _ purpose: String, _ keyID: String, _ masterKey: MasterKey
    ) throws -> [UInt8] {
        try SealedEnvelope.seal(key, key: masterKey.recordKey, context: KeyRecord.context(purpose, keyID))
    }
}
