internal import VaultBiometric
public import VaultCrypto

/// The strength of a password against a thief who can guess without limit, for example with a stolen disk and an unlock
/// method that needs no network. It is a rough estimate from length and kinds of characters, and not a measure of
/// entropy.
///
/// A well-known word, or a name of the person, counts as one character. Weak: fewer than 8 characters, fewer than 10 of
/// one kind, fewer than 14 digits, or fewer than 5 different ones. Strong: 16 characters, 8 of them different, or 12
/// with letters, digits and signs.
public struct PasswordStrength: Sendable, Hashable, CustomStringConvertible {
    /// The strength as a word, stable across versions. New words may be added, so a `switch` over the strengths needs a
    /// `default`.
    public let name: String
    /// One short sentence for the person.
    public let description: String

    /// A password that a thief can guess quickly. Ask the person for a longer password.
    public static let weak = PasswordStrength(name: "weak", description: "This password can be guessed quickly.")
    /// A password between ``weak`` and ``strong``. Accept it, and suggest a longer password.
    public static let fair = PasswordStrength(
        name: "fair", description: "This password is fair. A longer one is safer.")
    /// A password that is hard to guess. Accept it.
    public static let strong = PasswordStrength(name: "strong", description: "This password is hard to guess.")
}

extension NewPasswordRule {
    /// Estimates a password's strength. ``objection(to:names:)`` tells whether the password may be used.
    ///
    /// - Parameters:
    ///   - password: UTF-8.
    ///   - names: the person's names: user name, e-mail address, alias.
    public static func strength(of password: borrowing SecretBytes, names: [String] = []) -> PasswordStrength {
        let rule = StrengthRule(names: names.map { $0.lowercased() })
        return rule.objection(toSecret: password, invalid: .weak) ?? .strong
    }
}

/// Reads the characters in place, without a copy. It objects to a password that is not strong.
private struct StrengthRule: SecretTextRule {
    let names: [String]

    func objection(to text: some BidirectionalCollection<Character>) -> PasswordStrength? {
        let words = NewPasswordRule.common.filter { $0.count >= 4 } + names.filter { $0.count >= 3 }
        let length =
            words.map { word in
                let rest = text.count(without: word)
                return rest + (text.count - rest) / word.count
            }.min() ?? text.count
        let digits = text.count { $0.isNumber }
        let letters = text.count { $0.isLetter }
        let kinds = [digits, letters, text.count - digits - letters].count { $0 > 0 }
        let different = text.indices.count { !text[..<$0].contains(text[$0]) }
        if length < 8 || kinds == 1 && length < (digits > 0 ? 14 : 10) || different < 5 { return .weak }
        return length >= 16 && different >= 8 || length >= 12 && kinds == 3 ? nil : .fair
    }
}
