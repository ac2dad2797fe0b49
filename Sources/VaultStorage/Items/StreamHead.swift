internal import VaultCrypto

/// The stored head of an item in chunks: `"CV" ‖ format 3 ‖ the stream's head ‖ the stream's key, sealed`.
///
/// Each stream has its own random key. A new vault key seals only that key again, and the chunks stay. Somebody who
/// knows the old vault key opens nothing with it, because the random key is not derived from it.
struct StreamHead {
    private static let magic: [UInt8] = Array("CV".utf8) + [3]
    private static let streamSize = 27

    /// The head of the stream, which its chunks are bound to.
    let stream: [UInt8]
    private let sealedKey: [UInt8]

    /// The bytes to store.
    var bytes: [UInt8] { Self.magic + stream + sealedKey }

    /// Reads stored bytes; nil for those of another form.
    init?(_ bytes: [UInt8]) {
        let start = Self.magic.count + Self.streamSize
        guard bytes.starts(with: Self.magic), bytes.count > start else { return nil }
        stream = Array(bytes[Self.magic.count..<start])
        sealedKey = Array(bytes[start...])
    }

    /// - Parameter nameKey: see ``VaultKey/streamKey(of:of:)``.
    init(
        _ stream: [UInt8], key: borrowing SecretBytes, under nameKey: borrowing SecretBytes, _ name: ItemName,
        _ id: AccountID
    ) throws {
        self.stream = stream
        sealedKey = try SealedEnvelope.seal(key, key: Self.sealingKey(nameKey), context: Self.context(name, id))
    }

    /// Opens the key of the stream.
    ///
    /// - Throws: `VaultCryptoError`.
    func key(under nameKey: borrowing SecretBytes, _ name: ItemName, _ id: AccountID) throws -> SecretBytes {
        try SealedEnvelope.open(sealedKey, key: Self.sealingKey(nameKey), context: Self.context(name, id))
    }

    /// Whether stored bytes are the head of an item in chunks, of this form or of the older one without a key.
    static func isHead(_ bytes: [UInt8]) -> Bool { SealedStream.isHead(bytes) || StreamHead(bytes) != nil }

    /// In older items the name's key seals the chunks themselves. One key serves one cipher only.
    private static func sealingKey(_ nameKey: borrowing SecretBytes) throws -> SecretBytes {
        try KeyDerivation.hkdf(nameKey, info: "credential-vault/v1/stream-key")
    }

    private static func context(_ name: ItemName, _ id: AccountID) -> SealingContext {
        SealingContext(
            purpose: "credential-vault/v1/stream-key", issuer: id.issuer, subject: id.subject, id: name.rawValue)
    }
}
