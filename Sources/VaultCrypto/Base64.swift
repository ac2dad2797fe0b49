internal import CSodium

/// Base64 of secrets, from guarded memory into guarded memory and in constant time.
public enum SecretBase64 {
    /// The two alphabets of RFC 4648.
    @nonexhaustive
    public enum Variant: Sendable {
        /// Section 4, with padding.
        case standard
        /// Section 5 (`-` and `_`), without padding.
        case urlSafe

        fileprivate var code: Int32 {
            self == .standard ? sodium_base64_VARIANT_ORIGINAL : sodium_base64_VARIANT_URLSAFE_NO_PADDING
        }
    }

    /// Returns the base64 text of `bytes`, as ASCII bytes.
    public static func encode(_ bytes: borrowing SecretBytes, _ variant: Variant) throws -> SecretBytes {
        let size = sodium_base64_encoded_len(bytes.count, variant.code)  // counts the final NUL
        let text = try SecretBytes(count: size) { output in
            bytes.withUnsafeBytes { input in
                _ = sodium_bin2base64(
                    UnsafeMutableRawPointer(output.bytes).assumingMemoryBound(to: CChar.self), size, input.bytes,
                    input.count, variant.code)
            }
        }
        return try text.withUnsafeBytes {
            try SecretBox(SecretBytes(copying: UnsafeRawBufferPointer(rebasing: $0.dropLast())))
        }
        .take()
    }

    /// Returns the bytes that `text` encodes.
    ///
    /// - Throws: ``VaultCryptoError`` with code `invalidInput` if `text` is not base64 of this variant.
    public static func decode(_ text: borrowing SecretBytes, _ variant: Variant) throws -> SecretBytes {
        var count = 0
        let buffer = try SecretBytes(count: text.count) { output in
            let status = text.withUnsafeBytes { input in
                // libsodium 1.0.18 takes some bytes above 127 for characters of the alphabet.
                guard input.reduce(0, |) < 0x80 else { return CInt(-1) }
                return sodium_base642bin(
                    output.bytes, output.count, UnsafeRawPointer(input.bytes).assumingMemoryBound(to: CChar.self),
                    input.count, nil, &count, nil, variant.code)
            }
            guard status == 0 else { throw VaultCryptoError(.invalidInput, "the text is not base64") }
        }
        return try buffer.withUnsafeBytes {
            try SecretBox(SecretBytes(copying: UnsafeRawBufferPointer(rebasing: $0.prefix(count))))
        }.take()
    }
}
