/// Base64url (RFC 4648 section 5) of public bytes, without padding. Each byte string has exactly one text.
///
/// The time depends on the bytes. `SecretBase64` of `VaultCrypto` is for secrets.
public enum Base64URL {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
    /// The number that each character stands for; ``noNumber`` for the other bytes.
    private static let numbers = {
        var numbers = [UInt8](repeating: noNumber, count: 256)
        for (number, character) in alphabet.enumerated() { numbers[Int(character)] = UInt8(number) }
        return numbers
    }()
    private static let noNumber: UInt8 = 64

    /// Returns the text of `bytes`.
    public static func encode(_ bytes: some Sequence<UInt8>) -> String {
        bytes.withContiguousStorageIfAvailable(text) ?? Array(bytes).withUnsafeBufferPointer(text)
    }

    /// Returns the bytes of a text; nil unless ``encode(_:)`` turns them into exactly this text. So nobody can respell a
    /// signed token.
    public static func decode(_ text: some StringProtocol) -> [UInt8]? {
        text.utf8.withContiguousStorageIfAvailable(bytes) ?? Array(text.utf8).withUnsafeBufferPointer(bytes)
    }

    // The two do not depend on the caller's types, so the compiler makes fast code of them.

    private static func text(_ bytes: UnsafeBufferPointer<UInt8>) -> String {
        String(unsafeUninitializedCapacity: (bytes.count * 8 + 5) / 6) { text in
            let alphabet = alphabet
            var (bits, waiting, end): (UInt32, Int, Int) = (0, 0, 0)
            func write(_ number: UInt32) {
                text.initializeElement(at: end, to: alphabet[Int(number & 63)])
                end += 1
            }
            for byte in bytes {
                bits = bits << 8 | UInt32(byte)
                waiting += 8
                while waiting >= 6 {
                    waiting -= 6
                    write(bits >> waiting)
                }
            }
            if waiting > 0 { write(bits << (6 - waiting)) }
            return end
        }
    }

    private static func bytes(_ text: UnsafeBufferPointer<UInt8>) -> [UInt8]? {
        let numbers = numbers
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count * 6 / 8)
        var (bits, waiting): (UInt32, Int) = (0, 0)
        for character in text {
            let number = numbers[Int(character)]
            guard number != noNumber else { return nil }
            bits = bits << 6 | UInt32(number)
            waiting += 6
            if waiting >= 8 {
                waiting -= 8
                bytes.append(UInt8(truncatingIfNeeded: bits >> waiting))
            }
        }
        // A single last character has no whole byte, and the bits after the last byte are zero in the one right text.
        return waiting < 6 && bits & (1 << waiting - 1) == 0 ? bytes : nil
    }
}

/// Bytes in JSON: base64url without padding, in its one form.
public struct JSONBytes: Codable, Sendable, Hashable {
    /// The bytes.
    public var bytes: [UInt8]

    /// - Parameter bytes: any bytes.
    public init(_ bytes: [UInt8]) { self.bytes = bytes }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let bytes = Base64URL.decode(try container.decode(String.self)) else {
            // The value may be secret, so the error has no part of it.
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "not base64url")
        }
        self.bytes = bytes
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(Base64URL.encode(bytes))
    }
}
