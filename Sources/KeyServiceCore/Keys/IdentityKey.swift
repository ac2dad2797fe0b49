package import KeyServiceAPI
internal import VaultBase
internal import VaultCrypto

/// The identity of a service as a store keeps it: sealed under a master key.
package struct StoredIdentity: Sendable, Hashable {
    /// The master key that the content is sealed under.
    package var masterKeyID: MasterKeyID
    /// The secret key and the way from the earlier keys, in an envelope.
    package var content: [UInt8]

    /// Makes the stored form from its parts.
    ///
    /// - Parameters:
    ///   - masterKeyID: the master key that the content is sealed under.
    ///   - content: the envelope.
    package init(masterKeyID: MasterKeyID, content: [UInt8]) {
        self.masterKeyID = masterKeyID
        self.content = content
    }
}

/// The key with which a service proves to its clients that it made a key for them. All instances with one database have
/// the same.
package final class IdentityKey: Sendable {
    private static let context = SealingContext(
        purpose: "credential-vault/key-service/v2/identity", issuer: "", subject: "", id: "")
    private static let seedSize = 32
    private static let linkSize = OPRFSize.key + OPRFSize.signature

    private let seed: SharedSecret
    private let signingKey: SigningKey
    /// The earlier keys, the oldest first.
    private let links: [AnnouncedIdentity.Link]

    private init(_ seed: SharedSecret, _ links: [AnnouncedIdentity.Link] = []) throws {
        self.seed = seed
        signingKey = try SigningKey(seed: seed.bytes)
        self.links = links
    }

    /// Makes a new identity, without earlier keys. In base64url its public key does not begin with "-", because people
    /// give it to commands, which would take it for an option.
    static func random() throws -> IdentityKey {
        while true {
            let identity = try IdentityKey(SharedSecret(SecretBytes.random(count: seedSize)))
            // The first character has six bits. 62 stands for "-" (RFC 4648 section 5).
            if identity.signingKey.publicKey.first.map({ $0 >> 2 }) != 62 { return identity }
        }
    }

    /// Opens a stored identity.
    ///
    /// - Throws: ``KeyServiceServerError`` with code `storeUnusable` if it is damaged or its master key is missing.
    package convenience init(_ stored: StoredIdentity, _ masterKeys: MasterKeys) throws {
        let damaged = "The identity of the service in the database is damaged."
        let content: SharedSecret
        do {
            let masterKey = try masterKeys.masterKey(stored.masterKeyID)
            content = SharedSecret(
                try SealedEnvelope.open(stored.content, key: masterKey.recordKey, context: Self.context))
        } catch let error as VaultCryptoError where error.code != .outOfMemory {
            throw KeyServiceServerError(.storeUnusable, damaged, underlying: error)
        }
        let count = content.bytes.count - Self.seedSize
        guard count >= 0, count.isMultiple(of: Self.linkSize) else {
            throw KeyServiceServerError(.storeUnusable, damaged)
        }
        let seed = try content.bytes.withUnsafeBytes {
            SharedSecret(try SecretBytes(copying: UnsafeRawBufferPointer(rebasing: $0.prefix(Self.seedSize))))
        }
        // The links are public.
        let links = content.bytes.withUnsafeBytes { bytes in
            stride(from: Self.seedSize, to: bytes.count, by: Self.linkSize).map { start in
                let link = bytes[start..<start + Self.linkSize]
                return AnnouncedIdentity.Link(
                    key: Array(link.prefix(OPRFSize.key)), signature: Array(link.dropFirst(OPRFSize.key)))
            }
        }
        try self.init(seed, links)
    }

    /// The public key in base64url, as clients pin it.
    package var publicKey: String { Base64URL.encode(signingKey.publicKey) }

    /// The short form of the public key, for people who compare two keys.
    package var fingerprint: String { IdentityFingerprint.text(of: signingKey.publicKey) }

    /// The number of earlier keys from which clients find this one.
    package var earlierKeys: Int { links.count }

    /// The identity as clients get it.
    package var announced: AnnouncedIdentity { AnnouncedIdentity(key: signingKey.publicKey, chain: links) }

    func signed(_ answer: CreatedOPRFKey, id: String, blinded: [UInt8]) -> CreatedOPRFKey {
        let message = OPRFMessage.created(
            id: id, blinded: blinded, evaluated: answer.evaluated.bytes, ticket: answer.ticket.bytes,
            claimWithin: answer.claimWithin)
        return CreatedOPRFKey(
            evaluated: answer.evaluated.bytes, ticket: answer.ticket.bytes, claimWithin: answer.claimWithin,
            signature: signingKey.sign(message), identity: announced)
    }

    /// Makes the next identity. This key signs it, so that clients follow.
    func rotated() throws -> IdentityKey {
        let next = try Self.random()
        let message = OPRFMessage.identity(old: signingKey.publicKey, new: next.signingKey.publicKey)
        let link = AnnouncedIdentity.Link(key: signingKey.publicKey, signature: signingKey.sign(message))
        return try IdentityKey(next.seed, (links + [link]).suffix(AnnouncedIdentity.maxLinks))
    }

    /// Whether clients that know another identity follow it to this one.
    package func continues(_ other: IdentityKey) -> Bool {
        signingKey.publicKey == other.signingKey.publicKey
            || links.contains { $0.key.bytes == other.signingKey.publicKey }
    }

    package func sealed(_ masterKey: MasterKey) throws -> StoredIdentity {
        let links = links.flatMap { $0.key.bytes + $0.signature.bytes }
        let content = try SecretBytes(count: Self.seedSize + links.count) { output in
            seed.bytes.withUnsafeBytes { output.copyMemory(from: $0) }
            UnsafeMutableRawBufferPointer(rebasing: output[Self.seedSize...]).copyBytes(from: links)
        }
        return StoredIdentity(
            masterKeyID: masterKey.id,
            content: try SealedEnvelope.seal(content, key: masterKey.recordKey, context: Self.context))
    }
}

extension KeyRecordOperations {
    /// Returns the identity of the service. Makes one in a store that has none.
    ///
    /// - Parameter masterKeys: the master keys of the store, which have met it.
    /// - Throws: ``KeyServiceServerError`` with code `busy` or `storeUnusable`.
    package func makeIdentity(_ masterKeys: MasterKeys) async throws -> IdentityKey {
        while true {
            if let stored = try await identity() { return try IdentityKey(stored, masterKeys) }
            let new = try IdentityKey.random()
            // Another instance may be faster.
            if try await setIdentity(new.sealed(masterKeys.current), insteadOf: nil) { return new }
        }
    }

    /// Returns the identity of the service; nil for a store that no server of this version has used.
    ///
    /// - Throws: ``KeyServiceServerError`` with code `configurationInvalid` if a master key is missing, `busy` or
    ///   `storeUnusable`.
    package func identity(_ masterKeys: MasterKeys) async throws -> IdentityKey? {
        _ = try await masterKeys.match(state().masterKeys)
        return try await identity().map { try IdentityKey($0, masterKeys) }
    }

    /// Gives the service a new identity key, which the old one signs. Running servers use it within a second.
    ///
    /// - Throws: ``KeyServiceServerError`` with code `configurationInvalid` if a master key is missing, `storeUnusable`,
    ///   or `busy` if another command changed the identity meanwhile.
    package func rotateIdentity(_ masterKeys: MasterKeys) async throws -> IdentityKey {
        try await masterKeys.match(self)
        _ = try await makeIdentity(masterKeys)
        guard let stored = try await identity() else { throw KeyServiceServerError.busy }
        let new = try IdentityKey(stored, masterKeys).rotated()
        guard try await setIdentity(new.sealed(masterKeys.current), insteadOf: stored) else {
            throw KeyServiceServerError(.busy, "Another command changed the identity meanwhile. Try again.")
        }
        return new
    }
}

/// The identity of a running service. An operator may change it while servers run, so each server looks again
/// once a second.
package final class IdentityWatch: Sendable {
    private let store: any KeyRecordOperations
    private let masterKeys: MasterKeys
    private let newest: Lock<(stored: StoredIdentity?, key: IdentityKey)>

    /// Reads the identity. Makes one in a store that has none.
    package init(_ store: any KeyRecordOperations, _ masterKeys: MasterKeys) async throws {
        self.store = store
        self.masterKeys = masterKeys
        newest = Lock((nil, try await store.makeIdentity(masterKeys)))
    }

    /// The identity, at most a second old while the store can be read.
    package var current: IdentityKey { newest.withLock { $0.key } }

    /// Reads the store again. If it cannot be read, the last identity stays: the check of readiness reports the store.
    package func look() async {
        guard let stored = try? await store.identity(), newest.withLock({ $0.stored != stored }),
            let key = try? IdentityKey(stored, masterKeys)
        else { return }
        newest.withLock { $0 = (stored, key) }
    }
}
