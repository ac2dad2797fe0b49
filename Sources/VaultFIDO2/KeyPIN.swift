#if FIDO2
    internal import Foundation
    internal import VaultBiometric
    internal import VaultCrypto

    /// A PIN in the form for security keys: UTF-8 of Unicode Normalization Form C, 4 to 63 bytes (CTAP 2.1 section
    /// 6.5.1, "PIN Composition Requirements").
    final class KeyPIN: Sendable {
        static let length = 4...63
        /// The most wrong PINs that a key allows (CTAP 2.1 section 6.5.2.2).
        static let guesses = 8

        /// The PIN with a zero byte at its end.
        private let text: SecretBytes

        /// Prepares a PIN. Printable ASCII never leaves guarded memory. Any other text passes through a `String`, which
        /// cannot be wiped.
        ///
        /// - Parameter length: the allowed size, in bytes.
        /// - Throws: ``BiometricError`` with code `failed` for an impossible PIN. It costs no guess.
        init(_ pin: borrowing SecretBytes, length: ClosedRange<Int> = KeyPIN.length) throws {
            let isPlain = pin.withUnsafeBytes { $0.allSatisfy { (0x20...0x7E).contains($0) } }
            text =
                isPlain ? try Self.terminated(pin, length) : try Self.terminated(Self.normalized(pin, length), length)
        }

        /// Calls `body` with the PIN in libfido2's form.
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
