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
    func longSecretText() -> String {
        let text = bytes.withUnsafeBytes { Data($0[Self.partSize...]).base64EncodedData() }
        let urlSafe = text.lazy.filter { $0 != UInt8(ascii: "=") }.map { byte in
            switch byte {
            case UInt8(ascii: "+"): UInt8(ascii: "-")
            case UInt8(ascii: "/"): UInt8(ascii: "_")
            default: byte
            }
        }
        return String(decoding: Array(urlSafe), as: UTF8.self)
    }
}

/// The keys of a record's inner envelopes. Each comes from a secret of the key's owner.
///
/// In records of the first versions, the master key is a part of these keys. For other records, `masterKey` is nil.
enum KeyWrapping {
    static let saltSize = 16

    private static func purpose(_ masterKey: MasterKey?) -> String {
        masterKey == nil ? "credential-vault/key-service/v2/" : "credential-vault/key-service/v1/"
    }

    static func contextForSecret(keyID: String, masterKey: MasterKey?) -> SealingContext {
        SealingContext(
            purpose: purpose(masterKey) + "wrapped-by-secret", issuer: "", subject: "", id: "", keyID: keyID)
    }

    static func contextForLongSecret(keyID: String, masterKey: MasterKey?) -> SealingContext {
        SealingContext(
            purpose: purpose(masterKey) + "wrapped-by-long-secret", issuer: "", subject: "", id: "", keyID: keyID)
    }

    /// Whether a secret is `cv1.` and 43 base64url characters. Its 256 bits need no stretching.
    static func isStrong(_ secret: String) -> Bool {
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
    static func key(strongSecret: String, salt: [UInt8], masterKey: MasterKey?) throws -> SecretBytes {
        try KeyDerivation.hkdf(
            joined(strongSecret, masterKey), salt: salt, info: purpose(masterKey) + "strong-secret")
    }

    /// Derives the key from the long secret, in the client's text form. Takes microseconds.
    static func key(longSecret: String, salt: [UInt8], masterKey: MasterKey?) throws -> SecretBytes {
        try KeyDerivation.hkdf(joined(longSecret, masterKey), salt: salt, info: purpose(masterKey) + "long-secret")
    }

    /// Joins the text and the master key in one piece of guarded memory, as each piece costs several system calls. The
    /// master key has a fixed size, so no two pairs give the same bytes.
    private static func joined(_ secret: String, _ masterKey: MasterKey?) throws -> SecretBytes {
        let size = secret.utf8.count
        return try SecretBytes(count: size + (masterKey?.bytes.count ?? 0)) { target in
            target.copyBytes(from: secret.utf8)
            masterKey?.bytes.withUnsafeBytes {
                UnsafeMutableRawBufferPointer(rebasing: target[size...]).copyMemory(from: $0)
            }
        }
    }

    /// Derives the key from any other secret, with Argon2id (RFC 9106). A master key is its secret input (section 3.1,
    /// `K`). It blocks for the time that the parameters need.
    static func key(
        stretching secret: String, salt: [UInt8], parameters: Argon2Parameters, masterKey: MasterKey?
    ) throws -> SecretBytes {
        guard let masterKey else {
            return try Argon2id.deriveBlocking(
                password: SecretBytes(utf8: secret), salt: salt, secret: SecretBytes(copying: [UInt8]()),
                parameters: parameters)
        }
        return try Argon2id.deriveBlocking(
            password: SecretBytes(utf8: secret), salt: salt, secret: masterKey.bytes, parameters: parameters)
    }
}
