package import VaultCrypto

/// The 32 secret bytes without which no record opens. They are never in the database.
package final class MasterKey: Sendable {
    /// The size in bytes.
    package static let size = 32

    package let bytes: SecretBytes
    /// The name of this master key.
    package let id: MasterKeyID
    /// The key that seals the content of records. One key is enough for all: at 2^32 records, two random
    /// nonces would be equal with a chance of 2^-33.
    let recordKey: SecretBytes

    /// - Throws: ``KeyServiceServerError`` with code `configurationInvalid` if there are not 32 bytes.
    package init(_ bytes: consuming SecretBytes) throws {
        guard bytes.count == Self.size else {
            throw KeyServiceServerError(.configurationInvalid, "The master key must have \(Self.size) bytes.")
        }
        recordKey = try KeyDerivation.hkdf(bytes, info: "credential-vault/key-service/v2/record-key")
        let name = try KeyDerivation.hkdf(bytes, info: "credential-vault/key-service/v2/master-key-id", count: 8)
        id = MasterKeyID(rawValue: name.withUnsafeBytes { $0.reduce(UInt64(0)) { $0 << 8 | UInt64($1) } })
        self.bytes = bytes
    }

    /// Makes a master key with the system's random generator.
    package static func random() throws -> MasterKey {
        try MasterKey(SecretBytes.random(count: size))
    }

    private static let checkInfo = "credential-vault/key-service/v1/master-key-check"
    private static let checkContext = SealingContext(purpose: checkInfo, issuer: "", subject: "", id: "")

    /// Makes the entry for a store, with a check value that only this master key opens.
    ///
    /// - Parameter ownerKey: the store's key for the hashes of owners; nil for a new one. All entries of a store have
    ///   the same, so that the hashes stay when the master key changes.
    package func makeEntry(ownerKey: SharedSecret? = nil) throws -> StoredMasterKey {
        let key = try KeyDerivation.hkdf(bytes, info: Self.checkInfo)
        let content = try ownerKey?.bytes.copy() ?? SecretBytes.random(count: Self.size)
        return StoredMasterKey(
            id: id, check: try SealedEnvelope.seal(content, key: key, context: Self.checkContext))
    }

    /// Returns the store's key for the hashes of owners.
    func ownerKey(in entry: StoredMasterKey) throws -> SharedSecret {
        let key = try KeyDerivation.hkdf(bytes, info: Self.checkInfo)
        return SharedSecret(try SealedEnvelope.open(entry.check, key: key, context: Self.checkContext))
    }

    /// Whether this is the master key of a store's entry.
    func opens(_ entry: StoredMasterKey) throws -> Bool {
        do {
            let key = try KeyDerivation.hkdf(bytes, info: Self.checkInfo)
            _ = try SealedEnvelope.open(entry.check, key: key, context: Self.checkContext)
            return true
        } catch let error as VaultCryptoError where error.code == .wrongKey {
            return false
        }
    }
}
