public import FoundationEssentials

/// An error of a cryptographic operation. It never carries key material, passwords or plaintext.
public struct VaultCryptoError: LocalizedError, Hashable, Sendable, CustomStringConvertible {
    /// The kind of error. New codes may be added, so a `switch` over them needs a `default`.
    public struct Code: Hashable, Sendable {
        /// The code as a word, stable across versions.
        public let name: String

        /// The key does not open these bytes: another key, another owner, or changed bytes.
        public static let wrongKey = Code(name: "wrongKey")
        /// The bytes are not a sealed envelope of a known format: stored data is damaged, or a newer version wrote it.
        public static let malformedEnvelope = Code(name: "malformedEnvelope")
        /// Parameters or input are outside the limits. The message names the limit.
        public static let invalidInput = Code(name: "invalidInput")
        /// The password cannot be used (RFC 8265): it is empty, not UTF-8, or has forbidden characters.
        public static let invalidPassword = Code(name: "invalidPassword")
        /// The recovery code cannot be right: ask for it again. No guess was spent.
        public static let invalidRecovery = Code(name: "invalidRecovery")
        /// There is not enough memory for a secret or for Argon2.
        public static let outOfMemory = Code(name: "outOfMemory")
    }

    /// The kind of error.
    public let code: Code
    /// One sentence for a person.
    public let description: String
    /// What is wrong with the password, with `invalidPassword`; nil with any other code.
    public let objection: SecretObjection?

    package init(_ code: Code, _ description: String) {
        self.code = code
        self.description = description
        objection = nil
    }

    /// An error with code `invalidPassword`.
    package init(_ objection: SecretObjection) {
        code = .invalidPassword
        description = objection.description
        self.objection = objection
    }

    package init(_ code: Code) {
        let texts: [Code: String] = [
            .wrongKey: "The key does not open the sealed data.",
            .malformedEnvelope: "The sealed data is damaged, or a newer version wrote it.",
            .invalidPassword: "The password is empty or has forbidden characters.",
            .outOfMemory: "There is not enough memory.",
        ]
        self.init(code, texts[code] ?? "The input is not valid.")
    }

    /// The same text as ``description``, for `localizedDescription`.
    public var errorDescription: String? { description }
}
