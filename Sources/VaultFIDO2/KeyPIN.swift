#if FIDO2
    internal import Foundation
    internal import VaultBiometric
    internal import VaultCrypto

    /// A PIN in the form that security keys take: UTF-8 of Unicode Normalization Form C, 4 to 63 bytes (CTAP 2.1 section
    /// 6.5.1, "PIN Composition Requirements").
    final class KeyPIN: Sendable {
        static let length = 4...63
        /// Of which a key allows at most this many wrong ones (CTAP 2.1 section 6.5.2.2).
        static let tries = 8

        /// With a zero byte at its end.
        private let text: SecretBytes

        /// Printable ASCII never leaves guarded memory; anything else passes through a `String`, which cannot be wiped.
        ///
        /// - Parameter length: what the key allows, in bytes.
        /// - Throws: ``BiometricError`` with code `failed` for a PIN that the key cannot have. It costs no try.
        init(_ pin: borrowing SecretBytes, length: ClosedRange<Int> = KeyPIN.length) throws {
            let isPlain = pin.withUnsafeBytes { $0.allSatisfy { (0x20...0x7E).contains($0) } }
            text =
                isPlain ? try Self.terminated(pin, length) : try Self.terminated(Self.normalized(pin, length), length)
        }

        /// As libfido2 takes it.
        static func withCString<Answer>(
            _ pin: KeyPIN?, _ body: (UnsafePointer<CChar>?) throws -> Answer
        ) throws -> Answer {
            guard let pin else { return try body(nil) }
            return try pin.text.withUnsafeBytes { try body($0.bindMemory(to: CChar.self).baseAddress) }
        }

        private static func normalized(
            _ pin: borrowing SecretBytes, _ length: ClosedRange<Int>
        ) throws -> SecretBytes {
            guard let text = pin.utf8String() else { throw unusable(length) }
            return try SecretBytes(utf8: text.precomposedStringWithCanonicalMapping)
        }

        private static func terminated(
            _ pin: borrowing SecretBytes, _ length: ClosedRange<Int>
        ) throws -> SecretBytes {
            let hasZero = pin.withUnsafeBytes { $0.contains(0) }
            guard length.contains(pin.count), !hasZero else { throw unusable(length) }
            return try SecretBytes(count: pin.count + 1) { target in
                pin.withUnsafeBytes { target.copyMemory(from: $0) }
            }
        }

        private static func unusable(_ length: ClosedRange<Int>) -> BiometricError {
            BiometricError(
                .failed,
                "The PIN of this security key has at least \(length.lowerBound) characters, and at most "
                    + "\(length.upperBound) bytes of UTF-8. This one was not tried.")
        }
    }
#endif
