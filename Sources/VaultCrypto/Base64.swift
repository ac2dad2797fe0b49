internal import CSodium

/// Base64 of secrets, from guarded memory into guarded memory and in constant time.
public enum SecretBase64 {
    /// The two alphabets of RFC 4648.
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

/// Base64url (RFC 4648 section 5) of public bytes, without padding. Each byte string has exactly one text.
public enum Base64URL {
    /// Returns the text of `bytes`.
    public static func encode(_ bytes: [UInt8]) -> String {
        let size = sodium_base64_encoded_len(bytes.count, sodium_base64_VARIANT_URLSAFE_NO_PADDING)
        return String(unsafeUninitializedCapacity: size) { output in
            let text = UnsafeMutableRawPointer(UnsafeMutableRawBufferPointer(output).bytes)
            _ = sodium_bin2base64(
                text.assumingMemoryBound(to: CChar.self), size, bytes, bytes.count,
                sodium_base64_VARIANT_URLSAFE_NO_PADDING)
            return size - 1  // without the final NUL
        }
    }

    /// Returns the bytes of a text; nil if it is not base64url, has padding, or has unused bits that are not zero.
    public static func decode(_ text: String) -> [UInt8]? {
        var text = text
        return text.withUTF8 { input in
            // libsodium 1.0.18 takes some bytes above 127 for characters of the alphabet.
            guard input.allSatisfy({ $0 < 0x80 }) else { return nil }
            var count = 0
            var bytes = [UInt8](repeating: 0, count: input.count)
            let status = input.withMemoryRebound(to: CChar.self) { input in
                sodium_base642bin(
                    &bytes, bytes.count, input.baseAddress, input.count, nil, &count, nil,
                    sodium_base64_VARIANT_URLSAFE_NO_PADDING)
            }
            return status == 0 ? Array(bytes.prefix(count)) : nil
        }
    }
}
