internal import VaultCrypto

/// The content of a version 2 record: the request key and the key of the oblivious function, each in an envelope under
/// the master key. Both envelopes have the same size. The function's key comes last, so that a store can erase it
/// without the master key.
struct OPRFContent {
    private static let requestKeyPurpose = "credential-vault/key-service/v2/request-key"
    private static let keyPurpose = "credential-vault/key-service/v2/oblivious-key"

    /// Seals both keys for a new record.
    static func sealed(
        requestKey: borrowing SecretBytes, key: borrowing SecretBytes, keyID: String, _ masterKey: MasterKey
    ) throws -> [UInt8] {
        try SealedEnvelope.seal(requestKey, key: masterKey.recordKey, context: context(requestKeyPurpose, keyID))
            + SealedEnvelope.seal(key, key: masterKey.recordKey, context: context(keyPurpose, keyID))
    }

    /// Opens the key that authenticates requests. A key that was ended still has it.
    ///
    /// - Throws: ``KeyServiceServerError`` with code `storeUnusable` if the record is damaged or its master key is
    ///   missing.
    static func requestKey(of key: StoredKey, _ masterKeys: MasterKeys) throws -> SecretBytes {
        let record = key.record
        let half = key.state.isFinal ? record.content.count : record.content.count / 2
        return try open(Array(record.content.prefix(half)), requestKeyPurpose, record, masterKeys)
    }

    /// Opens the key of the oblivious function.
    ///
    /// - Throws: as ``requestKey(of:_:)``.
    static func key(of key: StoredKey, _ masterKeys: MasterKeys) throws -> SecretBytes {
        let record = key.record
        return try open(Array(record.content.suffix(record.content.count / 2)), keyPurpose, record, masterKeys)
    }

    /// Returns the content without the key of the oblivious function.
    static func withoutKey(_ content: [UInt8]) -> [UInt8] { Array(content.prefix(content.count / 2)) }

    /// Seals the content of a record again, under the current master key.
    static func resealed(_ record: KeyRecord, _ masterKeys: MasterKeys) throws -> [UInt8] {
        // Only an ended record has one envelope. The first envelope tells its own size.
        let isEnded = (try? open(record.content, requestKeyPurpose, record, masterKeys)) != nil
        let master = masterKeys.current
        if isEnded {
            let requestKey = try open(record.content, requestKeyPurpose, record, masterKeys)
            return try SealedEnvelope.seal(
                requestKey, key: master.recordKey, context: context(requestKeyPurpose, record.id))
        }
        let half = record.content.count / 2
        let requestKey = try open(Array(record.content.prefix(half)), requestKeyPurpose, record, masterKeys)
        let key = try open(Array(record.content.suffix(half)), keyPurpose, record, masterKeys)
        return try sealed(requestKey: requestKey, key: key, keyID: record.id, master)
    }

    private static func open(
        _ envelope: [UInt8], _ purpose: String, _ record: KeyRecord, _ masterKeys: MasterKeys
    ) throws -> SecretBytes {
        do {
            return try SealedEnvelope.open(
                envelope, key: masterKeys.masterKey(record.masterKeyID).recordKey, context: context(purpose, record.id))
        } catch let error as VaultCryptoError where error.code != .outOfMemory {
            throw KeyServiceServerError(.storeUnusable, "A record in the database is damaged.", underlying: error)
        }
    }

    private static func context(_ purpose: String, _ keyID: String) -> SealingContext {
        SealingContext(purpose: purpose, issuer: "", subject: "", id: "", keyID: keyID)
    }
}
