public import Foundation

/// The reason why the store could not do something. Nothing was deleted.
public struct StoreError: LocalizedError, Sendable, CustomStringConvertible {
    /// What happened. New codes may be added, so a `switch` over them needs a `default`.
    public struct Code: Hashable, Sendable {
        /// The code as a word, stable across versions.
        public let name: String

        /// The store cannot be read or written now: the disk is full or read-only, or has an I/O error. Free disk space
        /// or mount the disk, then try again.
        public static let unreadable = Code(name: "unreadable")
        /// The stored data is damaged. Restore a backup, or register the account again.
        public static let corrupt = Code(name: "corrupt")
        /// Another task or program has held the store or the account's lock for too long. Try again.
        public static let busy = Code(name: "busy")
        /// The task already had the account's lock and asked for it again. Correct the program: call `withLock` once.
        public static let alreadyLocked = Code(name: "alreadyLocked")
        /// A folder or file belongs to another user, or others may read it: see ``StoreError/detail``. Correct its owner
        /// or its mode.
        public static let unsafePermissions = Code(name: "unsafePermissions")
        /// A store is not safe on the file system of this folder. Do what the message says.
        public static let unsafeFileSystem = Code(name: "unsafeFileSystem")
        /// A newer version of the program made this store. Update this program.
        public static let newerVersion = Code(name: "newerVersion")
        /// The account is not in the store. List the accounts, or register this one.
        public static let noSuchAccount = Code(name: "noSuchAccount")
        /// The alias is a name of another account. Choose another alias.
        public static let aliasTaken = Code(name: "aliasTaken")
        /// An app's item cannot have this name. Choose another name.
        public static let reservedName = Code(name: "reservedName")
        /// The account has a new vault key, so what the old one sealed is not stored. Log in again.
        public static let vaultKeyReplaced = Code(name: "vaultKeyReplaced")
        /// Too many wrong guesses at a keyslot that needs no key service. Wait for ``StoreError/retryAfter``.
        public static let tooManyGuesses = Code(name: "tooManyGuesses")
    }

    /// The code that tells what happened, and so what to do next.
    public let code: Code
    /// One sentence for a person.
    public let description: String
    /// The exact situation, where the code stands for several; nil for the other errors.
    public let detail: VaultError.Detail?
    /// What the ``detail`` is about, for example a path; nil if it is about nothing else.
    public let value: String?
    /// The time to wait, with `tooManyGuesses`.
    public let retryAfter: Duration?
    /// The error of SQLite or the system that caused this one, for a log.
    public let underlying: (any Error)?

    /// Makes an error for a ``SecureStore`` of your own.
    ///
    /// - Parameters:
    ///   - code: what happened.
    ///   - description: one sentence for a person, without anything secret.
    ///   - detail: the exact situation, if the code stands for several.
    ///   - value: what the detail is about.
    ///   - retryAfter: the time to wait, with `tooManyGuesses`.
    ///   - underlying: the error that caused this one.
    public init(
        _ code: Code, _ description: String, detail: VaultError.Detail? = nil, value: String? = nil,
        retryAfter: Duration? = nil, underlying: (any Error)? = nil
    ) {
        self.code = code
        self.detail = detail
        self.value = value
        self.description = description
        self.retryAfter = retryAfter
        self.underlying = underlying
    }

    /// For `localizedDescription`: the same as ``description``.
    public var errorDescription: String? { description }
}
