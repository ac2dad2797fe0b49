/// The reason why a password, PIN or passphrase cannot be used, as a value. An app can say it in its own language: see
/// ``code`` and the numbers. Ask for another secret.
public struct SecretObjection: Sendable, Hashable, CustomStringConvertible {
    /// What is wrong. New codes may be added, so a `switch` over them needs a `default`: show
    /// ``SecretObjection/description``.
    public struct Code: Hashable, Sendable {
        /// The code as a word, stable across versions.
        public let name: String

        package init(name: String) { self.name = name }

        /// The secret is empty.
        public static let empty = Code(name: "empty")
        /// The secret has fewer than ``SecretObjection/least`` characters.
        public static let tooShort = Code(name: "tooShort")
        /// The secret has more than ``SecretObjection/most`` bytes in UTF-8.
        public static let tooLong = Code(name: "tooLong")
        /// The secret has only blanks.
        public static let blank = Code(name: "blank")
        /// The secret repeats one character or a group of characters, or is a mirror of itself.
        public static let repetition = Code(name: "repetition")
        /// The secret is a run of the alphabet, the digits, the keyboard or the keypad.
        public static let run = Code(name: "run")
        /// The secret is a date or a year.
        public static let date = Code(name: "date")
        /// The secret is so common that a thief tries it first.
        public static let common = Code(name: "common")
        /// The secret is made of the person's own name.
        public static let ownName = Code(name: "ownName")
        /// The bytes are not UTF-8. Correct the encoding of what the person types.
        public static let notText = Code(name: "notText")
        /// The secret has a character that cannot be used, such as a control character.
        public static let forbiddenCharacter = Code(name: "forbiddenCharacter")
    }

    /// The kind of a secret. New kinds may be added, so a `switch` over them needs a `default`.
    public struct Secret: Hashable, Sendable {
        /// The kind as a word, stable across versions.
        public let name: String

        /// A password of an account or a backend.
        public static let password = Secret(name: "password")
        /// A PIN of an account or of hardware.
        public static let pin = Secret(name: "pin")
        /// The passphrase of a backup.
        public static let passphrase = Secret(name: "passphrase")

        /// The word in a sentence.
        package var word: String { self == .pin ? "PIN" : name }

        /// - Parameter word: the word in a sentence. Any other word than those of the kinds stands for a password.
        init(word: String) { self = [.pin, .passphrase].first { $0.word == word } ?? .password }

        package init(name: String) { self.name = name }
    }

    /// What is wrong with the secret.
    public let code: Code
    /// The kind of the secret.
    public let secret: Secret
    /// The least number of characters, with `tooShort`; nil with any other code.
    public let least: Int?
    /// The greatest number of bytes in UTF-8, with `tooLong`; nil with any other code.
    public let most: Int?
    /// One sentence for a person.
    public let description: String

    package init(
        _ code: Code, of secret: Secret, least: Int? = nil, most: Int? = nil, _ description: String
    ) {
        self.code = code
        self.secret = secret
        self.least = least
        self.most = most
        self.description = description
    }
}

extension SecretObjection {
    package static func empty(_ secret: Secret) -> SecretObjection {
        SecretObjection(.empty, of: secret, "The \(secret.word) is empty.")
    }

    /// The objection to bytes that are not text.
    package static func notText(_ secret: Secret) -> SecretObjection {
        SecretObjection(.notText, of: secret, "The \(secret.word) is not valid UTF-8.")
    }
}
