internal import Foundation

/// The normal form of a password before stretching (RFC 8265 section 4.2, the OpaqueString profile).
public enum Password {
    /// Applies the OpaqueString profile. Spaces that are not ASCII become ASCII spaces, and the text becomes Unicode
    /// NFC. Control characters, unassigned and private code points, line separators, ignorable characters and old
    /// Hangul jamo are refused. Case is kept.
    ///
    /// Printable ASCII never leaves guarded memory. Any other text passes through a `String`, which cannot be wiped.
    ///
    /// - Parameters:
    ///   - password: UTF-8, as typed.
    ///   - name: the word for the password in the text of an error, for example "PIN".
    /// - Throws: ``VaultCryptoError`` with code `invalidPassword`: ask for another one.
    public static func opaqueString(
        _ password: borrowing SecretBytes, name: String = "password"
    ) throws -> SecretBytes {
        guard password.count > 0 else { throw VaultCryptoError(SecretObjection.empty(.init(word: name))) }
        let isPlain = password.withUnsafeBytes { $0.allSatisfy { (0x20...0x7E).contains($0) } }
        if isPlain { return try password.copy() }
        guard let text = password.utf8String() else {
            throw VaultCryptoError(SecretObjection.notText(.init(word: name)))
        }
        let mapped = String(
            String.UnicodeScalarView(
                text.unicodeScalars.map { $0.properties.generalCategory == .spaceSeparator ? " " : $0 }))
        let normalized = mapped.precomposedStringWithCanonicalMapping
        guard normalized.unicodeScalars.allSatisfy(isAllowed) else {
            throw VaultCryptoError(
                SecretObjection(
                    .forbiddenCharacter, of: .init(word: name),
                    "The \(name) has a forbidden character, such as a control character."))
        }
        return try SecretBytes(utf8: normalized)
    }

    /// Whether PRECIS FreeformClass allows a character (RFC 8264 section 8). Characters with contextual rules are
    /// refused.
    private static func isAllowed(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .unassigned, .surrogate, .privateUse, .lineSeparator, .paragraphSeparator: return false
        default: break
        }
        if scalar.properties.isDefaultIgnorableCodePoint || scalar.properties.isNoncharacterCodePoint { return false }
        switch scalar.value {
        case 0x1100...0x11FF, 0xA960...0xA97C, 0xD7B0...0xD7FB: return false  // old Hangul jamo
        default: return true
        }
    }
}
