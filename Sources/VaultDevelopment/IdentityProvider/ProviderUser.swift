extension DevelopmentIdentityProvider {
    /// A user who can log in.
    public struct User: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
        /// The username on the login page, and the claim `preferred_username`.
        public var username: String
        /// The password on the login page.
        public var password: String
        /// The claim `name`.
        public var name: String
        /// The claim `email`.
        public var email: String

        /// Creates a user with the given claims.
        public init(username: String, password: String, name: String, email: String) {
            self.username = username
            self.password = password
            self.name = name
            self.email = email
        }

        /// The user `alice` with the password `alice-password`.
        public static let alice = User(
            username: "alice", password: "alice-password", name: "Alice Example", email: "alice@example.com")
        /// The user `bob` with the password `bob-password`.
        public static let bob = User(
            username: "bob", password: "bob-password", name: "Bob Example", email: "bob@example.com")

        /// The claim `sub`: the same for this username in every run, opaque, and not the username itself.
        public var subject: String { subjectIdentifier(username: username) }

        public var description: String { "User(\(username))" }
        public var debugDescription: String { description }
        public var customMirror: Mirror { Mirror(self, children: ["username": username]) }
    }
}
