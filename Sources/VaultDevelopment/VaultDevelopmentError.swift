public import FoundationEssentials

/// Why something in this library could not be done. It never carries a password or a token.
public struct VaultDevelopmentError: LocalizedError, Sendable, CustomStringConvertible {
    /// What happened. New codes may be added, so a `switch` over them needs a `default`.
    public struct Code: Hashable, Sendable {
        let name: String

        /// The address cannot be listened on, mostly because something else does. Take another port, or port 0.
        public static let addressInUse = Code(name: "addressInUse")
        /// An option has a value that cannot be used; the description names it.
        public static let invalidOption = Code(name: "invalidOption")
        /// The state file cannot be read or written, or is not one. Give another path, or remove the file.
        public static let stateFileUnusable = Code(name: "stateFileUnusable")
        /// The provider's page was not what a person could go on from; the description tells what it said.
        public static let unexpectedPage = Code(name: "unexpectedPage")
        /// No connection came up, or it broke.
        public static let notReachable = Code(name: "notReachable")
    }

    /// What happened.
    public let code: Code
    /// One sentence for a person.
    public let description: String
    /// The error below, where there is one.
    public let underlying: (any Error)?

    package init(_ code: Code, _ description: String, underlying: (any Error)? = nil) {
        self.code = code
        self.description = description
        self.underlying = underlying
    }

    /// For `localizedDescription`: the same as ``description``.
    public var errorDescription: String? { description }
}
