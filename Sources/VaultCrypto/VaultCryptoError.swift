public import FoundationEssentials

/// What went wrong in a cryptographic operation. It never carries key material, passwords or plaintext.
public struct VaultCryptoError: LocalizedError, Hashable, Sendable, CustomStringConvertible {
    /// What happened. New codes may be added, so a `switch` over them needs a `default`.
    public struct Code: Hashable, Sendable {
        let name: String

        /// The key does not open these bytes: another key, another owner, or changed bytes.
        public static let wrongKey = Code(name: "wrongKey")
        /// The bytes are not a sealed envelope of a known format: stored data is damaged, or a newer version wrote it.
        public static let malformedEnvelope = Code(name: "malformedEnvelope")
        /// Parameters or input outside what is allowed. The message names the limit.
        public static let invalidInput = Code(name: "invalidInput")
        /// The password cannot be used as it is (RFC 8265): empty, not UTF-8, or with characters that are not allowed.
        public static let invalidPassword = Code(name: "invalidPassword")
        /// The recovery code cannot be right: ask for it again. Nothing was spent on it.
        public static let invalidRecovery = Code(name: "invalidRecovery")
        /// Memory for a secret or for Argon2 could not be had.
        public static let outOfMemory = Code(name: "outOfMemory")
    }

    /// What happened.
    public let code: Code
    /// One sentence for a person.
    public let description: String

    package init(_ code: Code, _ description: String) {
        self.code = code
        self.description = description
    }

    package init(_ code: Code) {
        let texts: [Code: String] = [
            .wrongKey: "The key does not open the sealed data.",
            .malformedEnvelope: "The sealed data is damaged, or a newer version wrote it.",
            .invalidPassword: "The password is empty or has characters that cannot be used.",
            .outOfMemory: "There is not enough memory.",
        ]
        self.init(code, texts[code] ?? "The input is not valid.")
    }

    /// For `localizedDescription`: the same as ``description``.
    public var errorDescription: String? { description }
}
