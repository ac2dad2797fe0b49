public import Foundation

/// Why the store could not do something. Nothing was deleted.
public struct StoreError: LocalizedError, Sendable, CustomStringConvertible {
    /// What happened. New codes may be added, so a `switch` over them needs a `default`.
    public struct Code: Hashable, Sendable {
        let name: String
        /// The store cannot be read or written right now: a full or read-only disk, an I/O error.
        public static let unreadable = Code(name: "unreadable")
        /// What is stored is damaged.
        public static let corrupt = Code(name: "corrupt")
        /// Somebody else has been holding the store or the account's lock for too long: try again.
        public static let busy = Code(name: "busy")
        /// The task asked for an account's lock while it had that lock: a mistake in the program.
        public static let alreadyLocked = Code(name: "alreadyLocked")
        /// Folder or file belong to another user, or others may read them. The message says how to mend it.
        public static let unsafePermissions = Code(name: "unsafePermissions")
        /// The folder is on a file system that a store is not safe on. The message says what to do.
        public static let unsafeFileSystem = Code(name: "unsafeFileSystem")
        /// A newer version of the program made this store.
        public static let newerVersion = Code(name: "newerVersion")
        /// The account to change is not there (any more).
        public static let noSuchAccount = Code(name: "noSuchAccount")
        /// The alias is a name of another account: choose another one.
        public static let aliasTaken = Code(name: "aliasTaken")
        /// An app's item cannot be called so: choose another name.
        public static let reservedName = Code(name: "reservedName")
        /// Too many wrong guesses at a keyslot that no key service guards: wait for ``StoreError/retryAfter``.
        public static let tooManyGuesses = Code(name: "tooManyGuesses")
    }

    /// The code that tells what happened, and so what to do next.
    public let code: Code
    /// One sentence for a person.
    public let description: String
    /// With `tooManyGuesses`: how long to wait.
    public let retryAfter: Duration?
    /// The error of SQLite or the system that caused this one, for a log.
    public let underlying: (any Error)?

    /// Makes an error for a ``SecureStore`` of your own.
    ///
    /// - Parameters:
    ///   - code: what happened.
    ///   - description: one sentence for a person, without anything secret.
    ///   - retryAfter: with `tooManyGuesses`, how long to wait.
    ///   - underlying: the error that caused this one.
    public init(
        _ code: Code, _ description: String, retryAfter: Duration? = nil, underlying: (any Error)? = nil
    ) {
        self.code = code
        self.description = description
        self.retryAfter = retryAfter
        self.underlying = underlying
    }

    /// For `localizedDescription`: the same as ``description``.
    public var errorDescription: String? { description }
}
