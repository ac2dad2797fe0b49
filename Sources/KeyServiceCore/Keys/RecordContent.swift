internal import VaultCrypto

/// The content of a record: the key and its long secret, sealed twice. One envelope opens with the secret, the other
/// with the long secret. A seal under the master key lies around both. So the master key can change without the secret.
struct RecordContent {
    var bySecret: [UInt8]
    var byLongSecret: [UInt8]

    init(bySecret: [UInt8], byLongSecret: [UInt8]) {
        self.bySecret = bySecret
        self.byLongSecret = byLongSecret
    }

    /// Opens the content of a record.
    ///
    /// - Throws: ``KeyServiceServerError`` with code `storeUnusable` if the record is damaged or its master key is
    ///   missing.
    init(of record: KeyRecord, _ masterKeys: MasterKeys) throws {
        let both = try Self.open(record, masterKeys.masterKey(record.masterKeyID))
        // Both envelopes have the same size, as the same bytes are inside.
        bySecret = Array(both[..<(both.count / 2)])
        byLongSecret = Array(both[(both.count / 2)...])
    }

    private static func open(_ record: KeyRecord, _ masterKey: MasterKey) throws -> [UInt8] {
        do {
            return try SealedEnvelope.open(record.content, key: masterKey.recordKey, context: context(record.id))
                .withUnsafeBytes { Array($0) }
        } catch let error as VaultCryptoError where error.code != .outOfMemory {
            // This error must not look like a wrong guess.
            throw KeyServiceServerError(.storeUnusable, "A record in the database is damaged.", underlying: error)
        }
    }

    func sealed(keyID: String, _ masterKey: MasterKey) throws -> [UInt8] {
        try (bySecret + byLongSecret).withUnsafeBytes {
            try SealedEnvelope.seal($0, key: masterKey.recordKey, context: Self.context(keyID))
        }
    }

    /// Returns a record with the same content under the current master key.
    static func resealed(_ record: KeyRecord, _ masterKeys: MasterKeys) throws -> KeyRecord {
        var resealed = record
        resealed.content =
            record.details.kind == KeyDetails.oprfKind
            ? try OPRFContent.resealed(record, masterKeys)
            : try RecordContent(of: record, masterKeys).sealed(keyID: record.id, masterKeys.current)
        resealed.masterKeyID = masterKeys.current.id
        return resealed
    }

    private static func context(_ keyID: String) -> SealingContext {
        SealingContext(
            purpose: "credential-vault/key-service/v2/record", issuer: "", subject: "", id: "", keyID: keyID)
    }
}
