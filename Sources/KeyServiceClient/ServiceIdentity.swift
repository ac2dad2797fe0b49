internal import KeyServiceAPI
internal import VaultBase
package import VaultCrypto

/// The identity of a key service: the public key that proves who made a key, and the way from each earlier key.
public struct ServiceIdentity: Sendable, Hashable {
    /// An earlier key, which signed the next one.
    public struct Link: Sendable, Hashable {
        /// The earlier public key, 32 bytes.
        public let key: [UInt8]
        /// Its signature over the next key, 64 bytes.
        public let signature: [UInt8]

        /// Makes a link.
        ///
        /// - Parameters:
        ///   - key: the earlier public key, 32 bytes.
        ///   - signature: its signature over the next key, 64 bytes.
        public init(key: [UInt8], signature: [UInt8]) {
            self.key = key
            self.signature = signature
        }
    }

    /// The public key (Ed25519), 32 bytes.
    public let key: [UInt8]
    /// The earlier keys, the oldest first.
    public let chain: [Link]

    /// Makes an identity for an ``OPRFKeyService`` of your own.
    ///
    /// - Parameters:
    ///   - key: the public key, 32 bytes.
    ///   - chain: the earlier keys, the oldest first.
    public init(key: [UInt8], chain: [Link] = []) {
        self.key = key
        self.chain = chain
    }

    /// Whether this is the identity with a known key, or the known key and each later one signed the way to it.
    public func continues(_ known: [UInt8]) -> Bool {
        guard known != key else { return true }
        guard let start = chain.firstIndex(where: { $0.key == known }) else { return false }
        let keys = chain.map(\.key) + [key]
        return chain.indices[start...].allSatisfy { index in
            let message = OPRFMessage.identity(old: keys[index], new: keys[index + 1])
            return Signature.isValid(chain[index].signature, of: message, by: keys[index])
        }
    }

    /// Whether this identity signed the evaluation that came with a new key.
    func signed(_ evaluation: FirstEvaluation, of new: NewOPRFKey) -> Bool {
        guard let signature = evaluation.signature else { return false }
        let message = OPRFMessage.created(
            id: new.id, blinded: new.blinded.bytes, evaluated: evaluation.element.bytes, ticket: evaluation.ticket,
            claimWithin: evaluation.claimWithin)
        return Signature.isValid(signature, of: message, by: key)
    }

    /// The short form of the key, for people who compare two keys.
    public var fingerprint: String { IdentityFingerprint.text(of: key) }
}

extension ServiceIdentity {
    /// Reads an identity as a service announces it; nil if a size is wrong or the chain is too long.
    init?(_ announced: AnnouncedIdentity) {
        let chain = announced.chain ?? []
        guard announced.key.bytes.count == OPRFSize.key, chain.count <= AnnouncedIdentity.maxLinks,
            chain.allSatisfy({
                $0.key.bytes.count == OPRFSize.key && $0.signature.bytes.count == OPRFSize.signature
            })
        else { return nil }
        self.init(key: announced.key.bytes, chain: chain.map { Link(key: $0.key.bytes, signature: $0.signature.bytes) })
    }
}

/// The keys that a client accepts as the identity of a key service.
package struct TrustedIdentities: Sendable {
    /// The keys that were met before. The service must continue each of them. Empty before the first use.
    private let known: Set<[UInt8]>
    /// The keys that were set by hand, which count instead of the known ones; nil for none.
    private let pinned: Set<[UInt8]>?

    /// Makes the keys to accept. See the properties.
    package init(known: Set<[UInt8]> = [], pinned: Set<[UInt8]>? = nil) {
        self.known = known
        self.pinned = pinned
    }

    /// Checks who made a key, before anything is made with it.
    ///
    /// - Returns: the public key of the service, to be known from now on; nil for an older service without identity.
    /// - Throws: ``KeyServiceError`` with code `notTrusted`.
    package func check(_ evaluation: FirstEvaluation, of new: NewOPRFKey) throws -> [UInt8]? {
        let needsProof = pinned != nil || !known.isEmpty
        guard let identity = evaluation.identity else {
            guard needsProof || evaluation.signature != nil else { return nil }
            throw notTrusted("It did not prove its identity.")
        }
        let seen = "It has the identity key with the fingerprint \(identity.fingerprint)."
        guard identity.signed(evaluation, of: new) else {
            throw notTrusted("\(seen) Its signature over the new key is missing or wrong.")
        }
        let isTrusted =
            pinned.map { $0.contains(where: identity.continues) } ?? known.allSatisfy(identity.continues)
        guard isTrusted else { throw notTrusted(seen) }
        return identity.key
    }

    private func notTrusted(_ finding: String) -> KeyServiceError {
        let accepted = (pinned ?? known).map(IdentityFingerprint.text).sorted().joined(separator: ", ")
        let expected =
            pinned != nil
            ? " The setting or policy key-service-keys allows: \(accepted.isEmpty ? "none" : accepted)."
            : accepted.isEmpty ? "" : " The accounts here know: \(accepted)."
        return KeyServiceError(
            .notTrusted, "The key service is not the known one, or somebody answers in its place. \(finding)\(expected)"
        )
    }
}

// The signatures of the service, for a service in memory.
extension SigningKey {
    package borrowing func created(
        _ id: String, _ blinded: RistrettoElement, _ evaluated: RistrettoElement, claimWithin: Int64? = nil
    ) -> [UInt8] {
        sign(
            OPRFMessage.created(
                id: id, blinded: blinded.bytes, evaluated: evaluated.bytes, ticket: OPRFDerivation.ticket(id, blinded),
                claimWithin: claimWithin))
    }

    package borrowing func next(_ key: [UInt8]) -> ServiceIdentity.Link {
        ServiceIdentity.Link(key: publicKey, signature: sign(OPRFMessage.identity(old: publicKey, new: key)))
    }
}
