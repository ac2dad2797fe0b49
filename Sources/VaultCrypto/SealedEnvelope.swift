internal import CSodium

/// The owner and purpose of a sealed blob. It is part of the authenticated data, so a blob does not open for another
/// user, slot or name.
public struct SealingContext: Sendable, Hashable {
    /// The kind of the sealed thing, with a version, for example `credential-vault/v1/item`.
    public var purpose: String
    /// The issuer of the account (OpenID Connect `iss`).
    public var issuer: String
    /// The subject of the account (OpenID Connect `sub`).
    public var subject: String
    /// The item's name, or the id of the keyslot.
    public var id: String
    /// The id of the key at the key service; empty for none.
    public var keyID: String

    /// Makes a context.
    ///
    /// - Parameters:
    ///   - purpose: the kind of thing that is sealed, with a version: `credential-vault/v1/item`.
    ///   - issuer: the issuer of the account (OpenID Connect `iss`).
    ///   - subject: the subject of the account (OpenID Connect `sub`).
    ///   - id: the name of the item, or the id of the keyslot.
    ///   - keyID: the id of the key at the key service; empty for none.
    public init(purpose: String, issuer: String, subject: String, id: String, keyID: String = "") {
        self.purpose = purpose
        self.issuer = issuer
        self.subject = subject
        self.id = id
        self.keyID = keyID
    }

    /// Returns the fields in order. Each stands behind its length, so no two contexts give the same bytes.
    func authenticatedData(header: [UInt8]) -> [UInt8] {
        var data = header
        data.reserveCapacity(256)
        for field in [purpose, issuer, subject, id, keyID] {
            withUnsafeBytes(of: UInt64(field.utf8.count).bigEndian) { data.append(contentsOf: $0) }
            data.append(contentsOf: field.utf8)
        }
        return data
    }
}

/// Authenticated encryption of stored data: `"CV" ‖ format ‖ algorithm ‖ nonce ‖ ciphertext ‖ tag`.
public enum SealedEnvelope {
    private static let magic: [UInt8] = Array("CV".utf8)
    private static let format: UInt8 = 1

    enum Algorithm: UInt8 {
        /// AES-256-GCM with a random 12-byte nonce; needs AES instructions.
        case aes256GCM = 1
        /// XChaCha20-Poly1305 with a random 24-byte nonce, for processors without AES instructions.
        case xchacha20Poly1305 = 2

        var nonceSize: Int { self == .aes256GCM ? Int(crypto_aead_aes256gcm_NPUBBYTES) : 24 }
    }

    private static let tagSize = 16

    /// Whether the processor has the instructions for AES-256-GCM. Without them, XChaCha20-Poly1305 seals.
    public static var hasHardwareAES: Bool {
        Sodium.isReady && crypto_aead_aes256gcm_is_available() == 1
    }

    /// Seals `plaintext` under `key`, bound to `context`.
    ///
    /// - Parameters:
    ///   - plaintext: any bytes, also none.
    ///   - key: 32 bytes.
    ///   - context: the owner and purpose of the blob. Opening needs the same context.
    /// - Throws: ``VaultCryptoError`` with code `invalidInput` if the key is not 32 bytes long.
    public static func seal(
        _ plaintext: UnsafeRawBufferPointer, key: borrowing SecretBytes, context: SealingContext
    ) throws -> [UInt8] {
        try seal(plaintext, key: key, context: context, algorithm: hasHardwareAES ? .aes256GCM : .xchacha20Poly1305)
    }

    /// Seals a secret under `key`. See ``seal(_:key:context:)-(UnsafeRawBufferPointer,_,_)``.
    public static func seal(
        _ secret: borrowing SecretBytes, key: borrowing SecretBytes, context: SealingContext
    ) throws -> [UInt8] {
        try secret.withUnsafeBytes { try seal($0, key: key, context: context) }
    }

    static func seal(
        _ plaintext: UnsafeRawBufferPointer, key: borrowing SecretBytes, context: SealingContext, algorithm: Algorithm
    ) throws -> [UInt8] {
        try requireKeySize(key)
        var nonce = [UInt8](repeating: 0, count: algorithm.nonceSize)
        randombytes_buf(&nonce, nonce.count)
        let header = magic + [format, algorithm.rawValue]
        let data = context.authenticatedData(header: header)
        let prefix = header + nonce
        let size = prefix.count + plaintext.count + tagSize
        return try [UInt8](unsafeUninitializedCapacity: size) { output, initialized in
            _ = output.initialize(from: prefix)
            let sealed = UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(output)[prefix.count...])
            let status = key.withUnsafeBytes { key in
                encrypt(algorithm, into: sealed.bytes, plaintext: plaintext, data: data, nonce: nonce, key: key)
            }
            guard status == 0 else { throw VaultCryptoError(.invalidInput, "the data is too long to seal") }
            initialized = size
        }
    }

    /// Opens a blob that ``seal(_:key:context:)-(UnsafeRawBufferPointer,_,_)`` made with the same key and context.
    ///
    /// - Throws: ``VaultCryptoError`` with code `wrongKey` for a wrong key, a wrong context or changed bytes,
    ///   `malformedEnvelope` for an unknown format.
    public static func open(
        _ envelope: [UInt8], key: borrowing SecretBytes, context: SealingContext
    ) throws -> SecretBytes {
        try requireKeySize(key)
        guard envelope.count >= 4, envelope.starts(with: magic), envelope[2] == format,
            let algorithm = Algorithm(rawValue: envelope[3]),
            envelope.count >= 4 + algorithm.nonceSize + tagSize
        else { throw VaultCryptoError(.malformedEnvelope) }
        if algorithm == .aes256GCM && !hasHardwareAES {
            throw VaultCryptoError(
                .invalidInput, "this data was sealed with AES-256-GCM, which needs a processor with AES instructions")
        }
        let nonceEnd = 4 + algorithm.nonceSize
        let data = context.authenticatedData(header: Array(envelope[0..<4]))
        return try envelope.withUnsafeBytes { envelope in
            let nonce = UnsafeRawBufferPointer(rebasing: envelope[4..<nonceEnd])
            let ciphertext = UnsafeRawBufferPointer(rebasing: envelope[nonceEnd...])
            let box = try SecretBox(
                SecretBytes(count: ciphertext.count - tagSize) { plaintext in
                    let status = key.withUnsafeBytes { key in
                        decrypt(algorithm, into: plaintext, ciphertext: ciphertext, data: data, nonce: nonce, key: key)
                    }
                    guard status == 0 else { throw VaultCryptoError(.wrongKey) }
                })
            return box
        }.take()
    }

    private static func requireKeySize(_ key: borrowing SecretBytes) throws {
        guard key.count == 32 else { throw VaultCryptoError(.invalidInput, "the sealing key must have 32 bytes") }
    }

    static func encrypt(
        _ algorithm: Algorithm, into output: UnsafeMutablePointer<UInt8>, plaintext: UnsafeRawBufferPointer,
        data: [UInt8], nonce: [UInt8], key: UnsafeRawBufferPointer
    ) -> Int32 {
        let function =
            algorithm == .aes256GCM ? crypto_aead_aes256gcm_encrypt : crypto_aead_xchacha20poly1305_ietf_encrypt
        return function(
            output, nil, plaintext.bytes, UInt64(plaintext.count), data, UInt64(data.count), nil, nonce, key.bytes)
    }

    static func decrypt(
        _ algorithm: Algorithm, into output: UnsafeMutableRawBufferPointer, ciphertext: UnsafeRawBufferPointer,
        data: [UInt8], nonce: UnsafeRawBufferPointer, key: UnsafeRawBufferPointer
    ) -> Int32 {
        let function =
            algorithm == .aes256GCM ? crypto_aead_aes256gcm_decrypt : crypto_aead_xchacha20poly1305_ietf_decrypt
        return function(
            output.bytes, nil, nil, ciphertext.bytes, UInt64(ciphertext.count), data, UInt64(data.count), nonce.bytes,
            key.bytes)
    }
}
