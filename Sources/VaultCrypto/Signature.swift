internal import CSodium
internal import VaultBase

/// A key that signs with Ed25519 (RFC 8032). It is derived from a secret, so it is never stored.
public struct SigningKey: ~Copyable, Sendable {
    private let secretKey: SecretBytes
    /// The public key, 32 bytes.
    public let publicKey: [UInt8]

    /// Derives the key pair from a seed.
    ///
    /// - Parameter seed: 32 bytes.
    /// - Throws: ``VaultCryptoError`` with code `invalidInput` if the seed has another size.
    public init(seed: borrowing SecretBytes) throws {
        guard seed.count == Int(crypto_sign_SEEDBYTES) else {
            throw VaultCryptoError(.invalidInput, "the seed of a signing key must have 32 bytes")
        }
        var publicKey = [UInt8](repeating: 0, count: Signature.publicKeySize)
        secretKey = try seed.withUnsafeBytes { seed in
            try SecretBox(
                SecretBytes(count: Int(crypto_sign_SECRETKEYBYTES)) { output in
                    _ = crypto_sign_seed_keypair(&publicKey, output.bytes, seed.bytes)
                })
        }.take()
        self.publicKey = publicKey
    }

    /// Signs a message.
    ///
    /// - Returns: 64 bytes.
    public borrowing func sign(_ message: [UInt8]) -> [UInt8] {
        var signature = [UInt8](repeating: 0, count: Signature.size)
        secretKey.withUnsafeBytes { key in
            _ = crypto_sign_detached(&signature, nil, message, UInt64(message.count), key.bytes)
        }
        return signature
    }
}

/// The check of Ed25519 signatures (RFC 8032).
public enum Signature {
    /// The size of a signature in bytes.
    public static let size = Int(crypto_sign_BYTES)
    /// The size of a public key in bytes.
    public static let publicKeySize = Int(crypto_sign_PUBLICKEYBYTES)

    /// Whether a signature belongs to a message and a public key. A public key of small order has no signatures.
    public static func isValid(_ signature: [UInt8], of message: [UInt8], by publicKey: [UInt8]) -> Bool {
        signature.count == size && publicKey.count == publicKeySize
            && crypto_sign_verify_detached(signature, message, UInt64(message.count), publicKey) == 0
    }

    /// Whether the bytes are a public key that somebody can have the secret key of: a point of the main subgroup in its
    /// one encoding.
    public static func isPublicKey(_ bytes: [UInt8]) -> Bool {
        bytes.count == publicKeySize && crypto_core_ed25519_is_valid_point(bytes) == 1
    }

    /// Reads a public key as people write it: base64url, 43 characters. Returns nil if the text is no public key.
    public static func publicKey(_ text: String) -> [UInt8]? {
        Base64URL.decode(text).flatMap { isPublicKey($0) ? $0 : nil }
    }
}

/// The authentication of a request with a shared key: the first 32 bytes of HMAC-SHA-512.
public enum RequestMAC {
    /// The size of the key and of the code, in bytes.
    public static let size = Int(crypto_auth_hmacsha512256_BYTES)

    /// Returns the code of a message.
    ///
    /// - Parameters:
    ///   - message: any bytes.
    ///   - key: 32 bytes.
    /// - Throws: ``VaultCryptoError`` with code `invalidInput` if the key has another size.
    public static func code(of message: [UInt8], key: borrowing SecretBytes) throws -> [UInt8] {
        guard key.count == Int(crypto_auth_hmacsha512256_KEYBYTES) else {
            throw VaultCryptoError(.invalidInput, "the key of a request must have 32 bytes")
        }
        var code = [UInt8](repeating: 0, count: size)
        key.withUnsafeBytes { key in
            _ = crypto_auth_hmacsha512256(&code, message, UInt64(message.count), key.bytes)
        }
        return code
    }

    /// Whether a code belongs to a message. The time does not depend on the code.
    public static func isValid(_ code: [UInt8], of message: [UInt8], key: borrowing SecretBytes) throws -> Bool {
        let expected = try Self.code(of: message, key: key)
        return code.count == size && sodium_memcmp(code, expected, size) == 0
    }
}

/// SHA-512 of public bytes.
public enum PublicHash {
    /// Returns the hash, 64 bytes.
    public static func sha512(_ bytes: [UInt8]) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: Int(crypto_hash_sha512_BYTES))
        crypto_hash_sha512(&digest, bytes, UInt64(bytes.count))
        return digest
    }
}
