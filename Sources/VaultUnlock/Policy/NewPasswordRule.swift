internal import VaultBiometric
public import VaultCrypto
internal import VaultStorage

/// The rule for new passwords: long enough, and not easy to guess.
///
/// Each call that gives an account a new password applies the rule, unless the app skips it. The app can also apply it
/// itself, while the person types. The rule requires at least 8 characters. It refuses one character or a short group repeated. It refuses a run of the
/// alphabet, the digits or the keyboard. It refuses very common passwords, also with digits or marks around them, and
/// passwords made of the user's own names. The key service allows only a few guesses, so the rule stops only the first
/// few guesses. It does not estimate entropy.
public enum NewPasswordRule {
    /// The least number of characters. A `VaultPolicy` may require more.
    public static let minimumLength = VaultPolicy.standard.minimumPasswordLength

    /// Checks a password.
    ///
    /// - Parameters:
    ///   - password: UTF-8.
    ///   - names: the person's names: user name, e-mail address, alias.
    /// - Returns: nil if the password is good enough. Otherwise the reason why it is not.
    public static func objection(to password: borrowing SecretBytes, names: [String] = []) -> SecretObjection? {
        objection(to: password, of: .password, names: names)
    }

    /// As ``objection(to:names:)``, for a password or a passphrase.
    package static func objection(
        to password: borrowing SecretBytes, of secret: SecretObjection.Secret, names: [String]
    ) -> SecretObjection? {
        let rule = TextRule(secret: secret, names: names)
        if let objection = rule.objection(toSecret: password, invalid: .notText(secret)) { return objection }
        do {
            _ = try Password.opaqueString(password, name: secret.word)
            return nil
        } catch {
            return (error as? VaultCryptoError)?.objection ?? rule.objection(.forbiddenCharacter, "cannot be used.")
        }
    }

    private struct TextRule: SecretTextRule {
        let secret: SecretObjection.Secret
        let names: [String]

        func objection(_ code: SecretObjection.Code, least: Int? = nil, _ text: String) -> SecretObjection {
            SecretObjection(code, of: secret, least: least, "The \(secret.word) \(text)")
        }

        func objection(to text: some BidirectionalCollection<Character>) -> SecretObjection? {
            guard text.count >= minimumLength else {
                return objection(.tooShort, least: minimumLength, "needs at least \(minimumLength) characters.")
            }
            if (1...4).contains(where: { text.repeats(every: $0) }) {
                return objection(.repetition, "repeats itself.")
            }
            if isRun(text) {
                return objection(.run, "is a run of neighbouring characters.")
            }
            // Without its ending, Password123! is a word that a thief tries first.
            let core = core(of: text)
            let plain = core.lazy.map { leet[$0] ?? $0 }
            if common.contains(where: { $0.elementsEqual(plain) || $0.elementsEqual(text) })
                || isRun(core) && core.count >= 4
            {
                return objection(.common, "is very common and is tried first.")
            }
            let whole = names.map { $0.lowercased() }
            let parts = whole + whole.flatMap { $0.split { !$0.isLetter && !$0.isNumber } }.map(String.init)
            if parts.contains(where: {
                $0.count >= 3 && (core.elementsEqual($0) || text.count(without: $0) < 4)
            }) {
                return objection(.ownName, "is made of the user's own name.")
            }
            return nil
        }

        /// Returns the text without the characters before the first letter and after the last.
        private func core<Text: BidirectionalCollection<Character>>(of text: Text) -> Text.SubSequence {
            guard let first = text.firstIndex(where: \.isLetter), let last = text.lastIndex(where: \.isLetter) else {
                return text.prefix(0)
            }
            return text[first...last]
        }

        private func isRun(_ text: some BidirectionalCollection<Character>) -> Bool {
            text.count >= 4 && runs.contains { text.isPart(of: $0) || text.reversed().isPart(of: $0) }
        }
    }

    private static let runs = [
        "abcdefghijklmnopqrstuvwxyz", "01234567890123456789", "qwertyuiopasdfghjklzxcvbnm",
        "qwertzuiopasdfghjklyxcvbnm",
        "azertyuiopqsdfghjklmwxcvbn", "1qaz2wsx3edc4rfv5tgb6yhn7ujm", "1q2w3e4r5t6z7u8i9o0p", "1q2w3e4r5t6y7u8i9o0p",
    ]

    private static let leet: [Character: Character] = [
        "0": "o", "1": "l", "3": "e", "4": "a", "5": "s", "7": "t", "@": "a", "$": "s",
    ]

    static let common: Set<String> = [
        "password", "passwort", "passw0rd", "motdepasse", "contraseña", "letmein", "welcome", "willkommen", "iloveyou",
        "sunshine", "princess", "football", "baseball", "superman", "batman", "trustno", "trustnol", "dragon", "monkey",
        "master", "michael", "jennifer", "computer", "internet", "samsung", "starwars", "whatever", "secret", "geheim",
        "changeme", "default", "administrator", "admin", "administrador", "login", "access", "freedom", "shadow",
        "hallo", "hello", "helloworld", "schatz", "charlie", "liverpool", "arsenal", "chelsea", "pokemon", "google",
        "mustang", "corvette", "mercedes", "ferrari", "jordan", "maggie", "summer", "winter", "spring", "autumn",
        "correcthorsebatterystaple", "abcabcabc", "qwerty", "qwertz", "azerty", "asdfgh", "zxcvbn", "test", "testtest",
    ]
}
