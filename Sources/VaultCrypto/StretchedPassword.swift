/// A password after one Argon2id. Two independent secrets are derived from it.
///
/// The key service gets only ``authSecret()``. ``slotKey(releasedKey:slotID:)`` needs a part that stays on this
/// machine. So neither the disk nor the key service alone can test a guess.
package struct StretchedPassword: ~Copyable, Sendable {
    private let stretched: SecretBytes

    /// Prepares the password (RFC 8265) and runs Argon2id off the cooperative thread pool.
    ///
    /// - Parameters:
    ///   - password: as the person typed it, UTF-8.
    ///   - salt: the keyslot's salt, 16 bytes.
    ///   - deviceSecret: the account's device secret, 32 bytes; never at the key service.
    ///   - parameters: the keyslot's cost.
    ///   - name: the word for the password in the text of an error, for example "PIN".
    /// - Throws: ``VaultCryptoError`` with code `invalidPassword`, `invalidInput` or `outOfMemory`.
    package init(
        password: borrowing SecretBytes, salt: [UInt8], deviceSecret: borrowing SecretBytes,
        parameters: Argon2Parameters, name: String = "password"
    ) async throws {
        stretched = try await Argon2id.derive(
            password: Password.opaqueString(password, name: name), salt: salt, secret: deviceSecret,
            parameters: parameters)
    }

    /// Takes the result of Argon2id, 32 bytes.
    package init(stretched: consuming SecretBytes) { self.stretched = stretched }

    /// Derives the secret for the key service: `cv1.` and 43 base64url characters, 256 bits.
    package borrowing func authSecret() throws -> SecretBytes {
        try AuthSecret.encode(KeyDerivation.hkdf(stretched, info: "credential-vault/v1/auth-secret"))
    }

    /// Derives the key that wraps the vault key in this keyslot.
    ///
    /// - Parameters:
    ///   - releasedKey: the key from the key service, 32 bytes.
    ///   - slotID: the keyslot's id.
    package borrowing func slotKey(releasedKey: borrowing SecretBytes, slotID: String) throws -> SecretBytes {
        let localShare = try KeyDerivation.hkdf(stretched, info: "credential-vault/v1/local-share")
        return try KeyDerivation.hkdf(releasedKey, localShare, info: "credential-vault/v1/slot-key" + slotID)
    }

    /// Derives the key that wraps the vault key in an `offline` keyslot.
    package borrowing func offlineSlotKey(slotID: String) throws -> SecretBytes {
        try KeyDerivation.hkdf(stretched, info: "credential-vault/v1/offline-slot-key" + slotID)
    }
}

/// The form of a 256-bit secret for the key service: `cv1.` and 43 base64url characters.
public enum AuthSecret {
    /// Makes a random secret.
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
