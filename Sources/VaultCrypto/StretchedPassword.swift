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
    /// - Throws: ``VaultCryptoError`` with code `invalidPassword`, `invalidInput` or `outOfMemory`.
    public init(
        password: borrowing SecretBytes, salt: [UInt8], deviceSecret: borrowing SecretBytes,
        parameters: Argon2Parameters
    ) async throws {
        let prepared = try Password.opaqueString(password)
        stretched = try await Argon2id.derive(
            password: prepared, salt: salt, secret: deviceSecret, parameters: parameters)
    }

    /// The secret for the key service: `cv1.` and 43 base64url characters, 256 bits.
    public borrowing func authSecret() throws -> SecretBytes {
        let raw = try KeyDerivation.hkdf(stretched, info: "credential-vault/v1/auth-secret")
        let text = try SecretBase64.encode(raw, .urlSafe)
        let prefix = Array("cv1.".utf8)
        return try SecretBytes(count: prefix.count + text.count) { target in
            target.copyBytes(from: prefix)
            text.withUnsafeBytes {
                UnsafeMutableRawBufferPointer(rebasing: target[prefix.count...]).copyMemory(from: $0)
            }
        }
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
}
