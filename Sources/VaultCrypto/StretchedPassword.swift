/// What a password becomes before it is used: one Argon2id, and from it two shares that tell nothing of each other.
///
/// The key service gets only ``authSecret()``; ``slotKey(releasedKey:slotID:)`` needs what stays on this machine.
/// So neither the disk nor the key service alone can test a guess.
public struct StretchedPassword: ~Copyable, Sendable {
    private let stretched: SecretBytes

    /// Prepares the password (RFC 8265) and runs Argon2id off the cooperative thread pool.
    ///
    /// - Parameters:
    ///   - password: as the person typed it, UTF-8.
    ///   - salt: the keyslot's salt, 16 bytes.
    ///   - deviceSecret: the account's device secret, 32 bytes; never at the key service.
    ///   - parameters: the keyslot's cost.
    ///   - name: what the person calls the password, for the text of an error.
    /// - Throws: ``VaultCryptoError`` with code `invalidPassword`, `invalidInput` or `outOfMemory`.
    public init(
        password: borrowing SecretBytes, salt: [UInt8], deviceSecret: borrowing SecretBytes,
        parameters: Argon2Parameters, name: String = "password"
    ) async throws {
        let prepared = try Password.opaqueString(password, name: name)
        stretched = try await Argon2id.derive(
            password: prepared, salt: salt, secret: deviceSecret, parameters: parameters)
    }

    /// The secret for the key service: `cv1.` and 43 base64url characters, 256 bits.
    public borrowing func authSecret() throws -> SecretBytes {
        try AuthSecret.encode(KeyDerivation.hkdf(stretched, info: "credential-vault/v1/auth-secret"))
    }

    /// The key that wraps the vault key in this keyslot.
    ///
    /// - Parameters:
    ///   - releasedKey: what the key service handed out, 32 bytes.
    ///   - slotID: the keyslot's id.
    public borrowing func slotKey(releasedKey: borrowing SecretBytes, slotID: String) throws -> SecretBytes {
        let localShare = try KeyDerivation.hkdf(stretched, info: "credential-vault/v1/local-share")
        return try KeyDerivation.hkdf(releasedKey, localShare, info: "credential-vault/v1/slot-key" + slotID)
    }

    /// The key that wraps the vault key in a keyslot that needs no key service.
    public borrowing func offlineSlotKey(slotID: String) throws -> SecretBytes {
        try KeyDerivation.hkdf(stretched, info: "credential-vault/v1/offline-slot-key" + slotID)
    }
}

/// The form of a secret for the key service that is 256 bits strong already: `cv1.` and 43 base64url characters.
public enum AuthSecret {
    /// A new one that nobody knows.
    public static func random() throws -> SecretBytes { try encode(SecretBytes.random(count: 32)) }

    static func encode(_ raw: borrowing SecretBytes) throws -> SecretBytes {
        let text = try SecretBase64.encode(raw, .urlSafe)
        let prefix = Array("cv1.".utf8)
        return try SecretBytes(count: prefix.count + text.count) { target in
            target.copyBytes(from: prefix)
            text.withUnsafeBytes {
                UnsafeMutableRawBufferPointer(rebasing: target[prefix.count...]).copyMemory(from: $0)
            }
        }
    }
}
