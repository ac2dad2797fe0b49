internal import Foundation
internal import VaultCrypto

/// A key and its long secret, 32 bytes each, one after the other in guarded memory.
final class KeyPair: Sendable {
    static let partSize = 32

    private let bytes: SecretBytes

    /// Makes a random pair.
    init() throws {
        bytes = try SecretBytes.random(count: 2 * Self.partSize)
    }

    /// Opens the pair that is sealed in `envelope`.
    ///
    /// - Throws: `VaultCryptoError` with code `wrongKey` if another key sealed it.
    init(opening envelope: [UInt8], key: borrowing SecretBytes, context: SealingContext) throws {
        let opened = try SealedEnvelope.open(envelope, key: key, context: context)
        guard opened.count == 2 * Self.partSize else { throw VaultCryptoError(.malformedEnvelope) }
        bytes = opened
    }

    func sealed(under key: borrowing SecretBytes, context: SealingContext) throws -> [UInt8] {
        try SealedEnvelope.seal(bytes, key: key, context: context)
    }

    /// Returns the key in base64 (RFC 4648 section 4). An answer needs a string, which cannot be wiped.
    func keyText() -> String {
        bytes.withUnsafeBytes { Data($0[..<Self.partSize]).base64EncodedString() }
    }

    /// Returns the long secret in base64url (RFC 4648 section 5) without padding.
    func longSecretText() throws -> String {
        let secret = try bytes.withUnsafeBytes {
            try SharedSecret(SecretBytes(copying: UnsafeRawBufferPointer(rebasing: $0[Self.partSize...])))
        }
        return try SecretBase64.encode(secret.bytes, .urlSafe).withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    }
}

/// The keys of a record's inner envelopes. Each comes from a secret of the key's owner.
package enum KeyWrapping {
    static let saltSize = 16

    private static let purpose = "credential-vault/key-service/v2/"

    static func contextForSecret(keyID: String) -> SealingContext {
        SealingContext(purpose: purpose + "wrapped-by-secret", issuer: "", subject: "", id: "", keyID: keyID)
    }

    static func contextForLongSecret(keyID: String) -> SealingContext {
        SealingContext(purpose: purpose + "wrapped-by-long-secret", issuer: "", subject: "", id: "", keyID: keyID)
    }

    /// Whether a secret is `cv1.` and 43 base64url characters. Its 256 bits need no stretching.
    package static func isStrong(_ secret: String) -> Bool {
        let prefix = "cv1.".utf8
        guard secret.utf8.count == prefix.count + 43, secret.utf8.starts(with: prefix) else { return false }
        return secret.utf8.dropFirst(prefix.count).allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                true
            default: false
            }
        }
    }

    /// Derives the key from a `cv1.` secret. Takes microseconds.
    static func key(strongSecret: String, salt: [UInt8]) throws -> SecretBytes {
        try KeyDerivation.hkdf(SecretBytes(utf8: strongSecret), salt: salt, info: purpose + "strong-secret")
    }

    /// Derives the key from the long secret, in the client's text form. Takes microseconds.
    static func key(longSecret: String, salt: [UInt8]) throws -> SecretBytes {
        try KeyDerivation.hkdf(SecretBytes(utf8: longSecret), salt: salt, info: purpose + "long-secret")
    }

    /// Derives the key from any other secret, with Argon2id (RFC 9106). It blocks for the time that the parameters need.
    static func key(stretching secret: String, salt: [UInt8], parameters: Argon2Parameters) throws -> SecretBytes {
        try Argon2id.deriveBlocking(
            password: SecretBytes(utf8: secret), salt: salt, secret: SecretBytes(copying: [UInt8]()),
            parameters: parameters)
    }
}
