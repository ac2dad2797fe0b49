public import Foundation
public import VaultCrypto

/// A keyslot whose stored bytes were changed, with the parts that can still be read.
public struct DamagedKeyslot: Sendable, Hashable {
    /// The id of the keyslot, as it is stored now.
    public let id: String
    /// The kind of the keyslot, as it is stored now.
    public let kind: Keyslot.Kind
    /// The stored id of its key at the key service; nil if the id cannot be read.
    public let keyID: String?
    /// The stored ``Keyslot/keyServiceProtocol``; nil if it cannot be read, or for none.
    public let keyServiceProtocol: Int?
    /// The stored ``Keyslot/endSignature``; empty if it cannot be read, or for protocol version 1.
    public let endSignature: [UInt8]

    /// Makes a report of a damaged keyslot, for a store of your own.
    ///
    /// - Parameters:
    ///   - id: the id of the keyslot.
    ///   - kind: the kind of the keyslot.
    ///   - keyID: the id of its key at the key service; nil when that cannot be read.
    ///   - keyServiceProtocol: the stored ``Keyslot/keyServiceProtocol``; nil when that cannot be read.
    ///   - endSignature: the stored ``Keyslot/endSignature``; empty when that cannot be read.
    public init(
        id: String, kind: Keyslot.Kind, keyID: String? = nil, keyServiceProtocol: Int? = nil,
        endSignature: [UInt8] = []
    ) {
        self.id = id
        self.kind = kind
        self.keyID = keyID
        self.keyServiceProtocol = keyServiceProtocol
        self.endSignature = endSignature
    }
}

/// One way to the vault key: the vault key sealed under this slot's own key.
public struct Keyslot: Sendable, Hashable {
    /// The kind of secret that opens a keyslot. `KeyslotTraits` has a row for each known kind.
    public struct Kind: RawRepresentable, Hashable, Sendable {
        /// The kind as a word, as it is stored: `password`, `pin`, `tpm2`.
        public let rawValue: String
        /// Makes a kind from its word: `BiometricProvider.kind` for hardware.
        public init(rawValue: String) { self.rawValue = rawValue }
    }

    /// Whether the key service helps to open the slot. The service then counts guesses and can end the key.
    public var needsKeyService: Bool { !keyID.isEmpty }

    /// A random id. The slot's key is derived from it, among other things.
    public let id: String
    /// The kind of secret or hardware that opens it.
    public let kind: Kind
    /// The salt of this slot's Argon2id, 16 bytes; empty if hardware opens the slot.
    public let salt: [UInt8]
    /// The cost of this slot's Argon2id.
    public let argon2: Argon2Parameters
    /// The id of this slot's key at the key service; empty if the slot needs no key service.
    public let keyID: String
    /// The version of the key service's protocol that the slot speaks; nil if it needs no key service.
    public let keyServiceProtocol: Int?
    /// The vault key in a ``SealedEnvelope``.
    public let wrapped: [UInt8]
    /// When the keyslot was made.
    public let createdAt: Date
    /// The person's own name for it; nil for the name of its kind.
    public var label: String?
    /// The time when it last opened the account on this machine.
    public var lastUsedAt: Date?
    /// The data beside the wrapped key: what hardware needs to open the slot. If a person types the secret, the identity
    /// key of the key service, or nothing. The slot opens only with exactly these bytes.
    public let protection: [UInt8]
    /// With protocol version 2, the public key that belongs to the right secret, 32 bytes. Empty for version 1.
    public let check: [UInt8]
    /// With protocol version 2, the signature that ends the key, 64 bytes. For a recovery code and for hardware it is
    /// sealed under the vault key. Empty for version 1.
    public let endSignature: [UInt8]

    /// Whether the key service computes an oblivious function for the slot: from version 2 of the protocol on.
    package var isOPRF: Bool { (keyServiceProtocol ?? 0) >= 2 }

    /// Makes a keyslot from its stored parts.
    ///
    /// - Parameters:
    ///   - id: a random id.
    ///   - kind: the kind of secret or hardware that opens it.
    ///   - salt: the salt of its Argon2id, 16 bytes; empty for hardware.
    ///   - argon2: the cost of its Argon2id.
    ///   - keyID: the id of its key at the key service; empty for none.
    ///   - keyServiceProtocol: see ``keyServiceProtocol``.
    ///   - wrapped: the vault key in a ``SealedEnvelope``.
    ///   - createdAt: when the keyslot was made.
    ///   - label: the name that the person gave it.
    ///   - lastUsedAt: when it last opened the account on this machine.
    ///   - protection: the data beside the wrapped key: see ``protection``.
    ///   - check: see ``check``.
    ///   - endSignature: see ``endSignature``.
    public init(
        id: String, kind: Kind, salt: [UInt8], argon2: Argon2Parameters, keyID: String,
        keyServiceProtocol: Int?, wrapped: [UInt8], createdAt: Date, label: String? = nil, lastUsedAt: Date? = nil,
        protection: [UInt8] = [],
        check: [UInt8] = [], endSignature: [UInt8] = []
    ) {
        self.id = id
        self.kind = kind
        self.salt = salt
        self.argon2 = argon2
        self.keyID = keyID
        self.keyServiceProtocol = keyServiceProtocol
        self.wrapped = wrapped
        self.createdAt = createdAt
        self.label = label
        self.lastUsedAt = lastUsedAt
        self.protection = protection
        self.check = check
        self.endSignature = endSignature
    }
}
