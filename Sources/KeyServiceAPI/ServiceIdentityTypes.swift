public import VaultBase
internal import VaultCrypto

/// The identity of a service in JSON: its public key, and the way from each earlier key.
public struct AnnouncedIdentity: Codable, Sendable, Hashable {
    /// An earlier key, which signed the next one.
    public struct Link: Codable, Sendable, Hashable {
        /// The earlier public key, 32 bytes.
        public var key: JSONBytes
        /// Its signature over ``OPRFMessage/identity(old:new:)`` with the next key, 64 bytes.
        public var signature: JSONBytes

        /// Makes a link.
        ///
        /// - Parameters:
        ///   - key: the earlier public key, 32 bytes.
        ///   - signature: its signature over the next key, 64 bytes.
        public init(key: [UInt8], signature: [UInt8]) {
            self.key = JSONBytes(key)
            self.signature = JSONBytes(signature)
        }
    }

    /// The most links. A service forgets older keys, and a client refuses more.
    public static let maxLinks = 32

    /// The public key of the service (Ed25519), 32 bytes.
    public var key: JSONBytes
    /// The earlier keys, the oldest first; nil for none.
    public var chain: [Link]?

    /// Makes an identity.
    ///
    /// - Parameters:
    ///   - key: the public key of the service, 32 bytes.
    ///   - chain: the earlier keys, the oldest first.
    public init(key: [UInt8], chain: [Link] = []) {
        self.key = JSONBytes(key)
        self.chain = chain.isEmpty ? nil : chain
    }
}

/// The short form of a service's public key, for people who compare two keys.
public enum IdentityFingerprint {
    /// Returns the first 10 bytes of SHA-512 over the label and the key, as five groups of hexadecimal digits.
    public static func text(of key: [UInt8]) -> String {
        let digits = PublicHash.sha512(OPRFMessage.bytes("fingerprint", key)).prefix(10).map { Hexadecimal.text([$0]) }
        return stride(from: 0, to: digits.count, by: 2).map { digits[$0] + digits[$0 + 1] }.joined(separator: "-")
    }
}

extension OPRFMessage {
    /// The message of the service's signature over a new key. So nobody between client and service can answer with a
    /// key of their own.
    ///
    /// - Parameters:
    ///   - id: the id of the key.
    ///   - blinded: the blinded element of the first guess, 32 bytes.
    ///   - evaluated: the evaluated element, 32 bytes.
    ///   - ticket: the ticket of the guess, 16 bytes.
    ///   - claimWithin: the time in seconds after which an unclaimed key ends; nil if unclaimed keys stay.
    public static func created(
        id: String, blinded: [UInt8], evaluated: [UInt8], ticket: [UInt8], claimWithin: Int64? = nil
    ) -> [UInt8] {
        bytes(
            "created", Array(id.utf8), blinded, evaluated, ticket, claimWithin.map { Array(String($0).utf8) } ?? [])
    }

    /// The message with which an identity key names the next one.
    ///
    /// - Parameters:
    ///   - old: the public key that signs, 32 bytes.
    ///   - new: the next public key, 32 bytes.
    public static func identity(old: [UInt8], new: [UInt8]) -> [UInt8] { bytes("identity", old, new) }
}
