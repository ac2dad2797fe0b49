/// What went wrong in the key service. It never carries a secret, a key or a long secret.
public struct KeyServiceServerError: Error, Sendable, CustomStringConvertible {
    /// What happened. New codes may be added, so a `switch` over them needs a `default`.
    public struct Code: Hashable, Sendable {
        let name: String

        /// The secret does not open the key: ``KeyServiceServerError/guessesRemaining`` says how many tries are left.
        public static let wrongSecret = Code(name: "wrong_secret")
        /// Too many wrong guesses, in a row or in all: an operator has to unlock the key.
        public static let keyLocked = Code(name: "key_locked")
        /// There is no key of this id.
        public static let noSuchKey = Code(name: "no_such_key")
        /// The request cannot be understood. The same request will never succeed.
        public static let invalidRequest = Code(name: "invalid_request")
        /// Too much work is waiting, or somebody else holds the database: try again a little later.
        public static let busy = Code(name: "busy")
        /// Settings, folder, master key file or database are not as they must be: the description says what to change.
        public static let configurationInvalid = Code(name: "configuration_invalid")
        /// A newer version of the program wrote the database. Nothing was touched: use that version.
        public static let storeTooNew = Code(name: "store_too_new")
        /// The database cannot be read or written. Nothing is deleted because of it.
        public static let storeUnusable = Code(name: "store_unusable")
    }

    /// What happened.
    public let code: Code
    /// One sentence for a person.
    public let description: String
    /// How many wrong guesses are left before the key locks; only with ``Code/wrongSecret``, and not after a wrong long
    /// secret, which is not counted.
    public let guessesRemaining: Int?
    /// What the database or the system said, where it said something.
    public let underlying: (any Error)?

    init(_ code: Code, _ description: String, guessesRemaining: Int? = nil, underlying: (any Error)? = nil) {
        self.code = code
        self.description = description
        self.guessesRemaining = guessesRemaining
        self.underlying = underlying
    }

    static let noSuchKey = KeyServiceServerError(.noSuchKey, "There is no such key.")
    static let keyLocked = KeyServiceServerError(.keyLocked, "The key is locked.")
    static let busy = KeyServiceServerError(.busy, "Too much work is waiting.")

    static func wrongSecret(guessesRemaining: Int?) -> KeyServiceServerError {
        KeyServiceServerError(.wrongSecret, "The secret is wrong.", guessesRemaining: guessesRemaining)
    }
}
