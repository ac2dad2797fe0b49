internal import Crypto
internal import Foundation

/// HKDF-SHA512 (RFC 5869) over secrets in guarded memory.
public enum KeyDerivation {
    /// Derives bytes from one secret.
    ///
    /// - Parameters:
    ///   - secret: the key material.
    ///   - salt: RFC 5869's salt; may be empty.
    ///   - info: a versioned purpose label. It keeps two uses of one key apart.
    ///   - count: the size of the result, at most 16,320 bytes.
    public static func hkdf(
        _ secret: borrowing SecretBytes, salt: [UInt8] = [], info: String, count: Int = 32
    ) throws -> SecretBytes {
        try hkdf(secret, salt: salt, info: Array(info.utf8), count: count)
    }

    /// Derives with any bytes as info.
    public static func hkdf(
        _ secret: borrowing SecretBytes, salt: [UInt8] = [], info: [UInt8], count: Int = 32
    ) throws -> SecretBytes {
        guard (1...255 * SHA512.byteCount).contains(count) else {
            throw VaultCryptoError(.invalidInput, "HKDF-SHA512 can derive only 1 to 16,320 bytes.")
        }
        let key = secret.withUnsafeBytes { SymmetricKey(data: $0) }
        let derived = HKDF<SHA512>.deriveKey(
            inputKeyMaterial: key, salt: salt, info: info, outputByteCount: count)
        return try derived.withUnsafeBytes { try SecretBox(SecretBytes(copying: $0)) }.take()
    }

    /// Derives bytes from two secrets in a row, so both are needed.
    public static func hkdf(
        _ first: borrowing SecretBytes, _ second: borrowing SecretBytes, salt: [UInt8] = [], info: String,
        count: Int = 32
    ) throws -> SecretBytes {
        let joined = try SecretBytes(count: first.count + second.count) { target in
            first.withUnsafeBytes { target.copyMemory(from: $0) }
            second.withUnsafeBytes {
                UnsafeMutableRawBufferPointer(rebasing: target[first.count...]).copyMemory(from: $0)
            }
        }
        return try hkdf(joined, salt: salt, info: info, count: count)
    }
}
