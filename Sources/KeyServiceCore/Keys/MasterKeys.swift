internal import VaultBase
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

/// The master keys of a service. The current one seals new records. Older ones are needed until all records are sealed
/// again.
package final class MasterKeys: Sendable {
    /// The master key of new records.
    package let current: MasterKey
    private let old: [MasterKey]
    /// The master keys by their names in the store.
    private let known: Lock<[MasterKeyID: MasterKey]>
    /// The missing master keys that no record needed at the start.
    private let unneeded = Lock<Set<MasterKeyID>>([])
    /// The key for the hashes of owners.
    private let owners = Lock<SharedSecret?>(nil)

    package init(_ current: MasterKey, old: [MasterKey] = []) {
        self.current = current
        self.old = old
        known = Lock(Dictionary(([current] + old).map { ($0.id, $0) }) { first, _ in first })
    }

    /// The names of all these master keys.
    package var ids: [MasterKeyID] { [current.id] + old.map(\.id) }

    /// Finds the master key of each entry of a store, and adds the current one to the store. A missing master key that
    /// no record needs is ignored: perhaps somebody stopped a rotation.
    ///
    /// - Throws: ``KeyServiceServerError`` with code `configurationInvalid` if a master key of the store is missing.
    package func match(_ store: any KeyRecordOperations) async throws {
        let entries = try await store.state().masterKeys
        let missing = try entries.filter { try owner(of: $0) == nil }
        if !missing.isEmpty, missing.count < entries.count {
            let (needed, identity) = (try await store.counts(), try await store.identity())
            unneeded.withLock {
                $0 = Set(missing.map(\.id).filter { needed[$0] == nil && identity?.masterKeyID != $0 })
            }
        }
        if try !match(entries) { try await store.addMasterKey(current.makeEntry(ownerKey: knownOwnerKey(entries))) }
    }

    /// Returns the key for the hashes of owners.
    ///
    /// - Throws: ``KeyServiceServerError`` with code `busy` before ``match(_:)-([StoredMasterKey])``.
    func ownerKey() throws -> SharedSecret {
        guard let key = owners.withLock({ $0 }) else { throw KeyServiceServerError.busy }
        return key
    }

    /// Returns the key for the hashes of owners from a store's entries; nil for a store without entries.
    private func knownOwnerKey(_ entries: [StoredMasterKey]) throws -> SharedSecret? {
        for entry in entries {
            if let own = try owner(of: entry) { return try own.ownerKey(in: entry) }
        }
        return nil
    }

    private func owner(of entry: StoredMasterKey) throws -> MasterKey? {
        try ([current] + old).first { try $0.opens(entry) }
    }

    /// Finds the master key of each entry of a store.
    ///
    /// - Returns: whether the store knows the current master key.
    /// - Throws: ``KeyServiceServerError`` with code `configurationInvalid` if a master key of the store is missing.
    package func match(_ entries: [StoredMasterKey]) throws -> Bool {
        for entry in entries {
            guard let own = try owner(of: entry) else {
                if unneeded.withLock({ $0.contains(entry.id) }) { continue }
                let given = ids.map(\.description).joined(separator: ", ")
                throw KeyServiceServerError(
                    .configurationInvalid,
                    "The database needs the master key \(entry.id). Only these are given: \(given).",
                    remedy: .nameMasterKey)
            }
            known.withLock { $0[entry.id] = own }
        }
        if let key = try knownOwnerKey(entries) { owners.withLock { $0 = key } }
        return entries.contains { $0.id == current.id }
    }

    /// Returns the master key of a record.
    ///
    /// - Throws: ``KeyServiceServerError`` with code `storeUnusable` if the service does not have it.
    func masterKey(_ id: MasterKeyID) throws -> MasterKey {
        if let key = known.withLock({ $0[id] }) { return key }
        // Now a record needs it, so the service is not ready any more.
        unneeded.withLock { _ = $0.remove(id) }
        throw KeyServiceServerError(
            .storeUnusable, "A record is sealed under the master key \(id), which this server does not have.")
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
