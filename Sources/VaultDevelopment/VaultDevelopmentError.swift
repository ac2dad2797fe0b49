public import FoundationEssentials

/// An error of this library. It never carries a password or a token.
public struct VaultDevelopmentError: LocalizedError, Sendable, CustomStringConvertible {
    /// The kind of error. New codes may be added, so a `switch` over them needs a `default`.
    public struct Code: Hashable, Sendable {
        /// The code as a word, stable across versions.
        public let name: String

        /// The address is not free, mostly because another program uses it. Use another port, or port 0.
        public static let addressInUse = Code(name: "addressInUse")
        /// An option has a forbidden value. The description names the option.
        public static let invalidOption = Code(name: "invalidOption")
        /// The state file cannot be read or written, or is not valid. Use another path, or remove the file.
        public static let stateFileUnusable = Code(name: "stateFileUnusable")
        /// The provider's page was unexpected. The description has its text.
        public static let unexpectedPage = Code(name: "unexpectedPage")
        /// There was no connection, or the connection broke.
        public static let notReachable = Code(name: "notReachable")
    }

    /// The kind of error.
    public let code: Code
    /// One sentence for a person.
    public let description: String
    /// The underlying error, if there is one.
    public let underlying: (any Error)?

    package init(_ code: Code, _ description: String, underlying: (any Error)? = nil) {
        self.code = code
        self.description = description
        self.underlying = underlying
    }

    /// The same text as ``description``, for `localizedDescription`.
    public var errorDescription: String? { description }
}
