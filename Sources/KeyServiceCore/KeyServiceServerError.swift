/// An error of the key service. It never carries a secret, a key or a long secret.
package struct KeyServiceServerError: Error, Sendable, CustomStringConvertible {
    /// The kind of error. New codes may be added, so a `switch` over them needs a `default`.
    package struct Code: Hashable, Sendable {
        package let name: String

        /// The secret does not open the key: see ``KeyServiceServerError/guessesRemaining``.
        package static let wrongSecret = Code(name: "wrong_secret")
        /// Too many wrong guesses, in a row or in all: an operator has to unlock the key.
        package static let keyLocked = Code(name: "key_locked")
        /// There is no key with this id.
        package static let noSuchKey = Code(name: "no_such_key")
        /// The request cannot be understood. The same request will never succeed.
        package static let invalidRequest = Code(name: "invalid_request")
        /// Too much work is waiting, or another process holds the database: try again soon.
        package static let busy = Code(name: "busy")
        /// Settings, folder, master key file or database are wrong: the description tells what to change.
        package static let configurationInvalid = Code(name: "configuration_invalid")
        /// An older state of the database was put back, which would give guesses again: see
        /// ``KeyServiceServerError/remedy``.
        package static let rolledBack = Code(name: "rolled_back")
        /// A newer version of the program wrote the database. Nothing was changed: use the newer version.
        package static let storeTooNew = Code(name: "store_too_new")
        /// The database cannot be read or written. Nothing was deleted.
        package static let storeUnusable = Code(name: "store_unusable")
        /// The clock may be wrong, so no old keys are erased.
        package static let clockUncertain = Code(name: "clock_uncertain")
    }

    /// The kind of error.
    package let code: Code
    /// One sentence for a person.
    package let description: String
    /// What helps; nil if the description says enough.
    package let remedy: Remedy?
    /// The number of wrong guesses that are left before the key locks. Only with ``Code/wrongSecret``, and not after a
    /// wrong long secret, which is not counted.
    package let guessesRemaining: Int?
    /// The error of the database or the system, if there was one.
    package let underlying: (any Error)?
    /// Whether the change may have happened all the same, because only the answer of the store was lost.
    package let isOutcomeUnknown: Bool

    /// Makes an error, for a store of another package.
    ///
    /// - Parameters:
    ///   - description: one sentence for a person, without a secret.
    ///   - remedy: what helps.
    ///   - guessesRemaining: the number of wrong guesses that are left.
    ///   - underlying: the error of the database or the system.
    ///   - isOutcomeUnknown: whether the change may have happened all the same.
    package init(
        _ code: Code, _ description: String, remedy: Remedy? = nil, guessesRemaining: Int? = nil,
        underlying: (any Error)? = nil, isOutcomeUnknown: Bool = false
    ) {
        self.code = code
        self.description = description
        self.remedy = remedy
        self.guessesRemaining = guessesRemaining
        self.underlying = underlying
        self.isOutcomeUnknown = isOutcomeUnknown
    }

    /// The same error, for a change that may have happened all the same.
    package var withUnknownOutcome: KeyServiceServerError {
        KeyServiceServerError(
            code, description, remedy: remedy, guessesRemaining: guessesRemaining, underlying: underlying,
            isOutcomeUnknown: true)
    }

    /// The error of a store that is out of use, because its keys were moved or are being moved into it.
    ///
    /// - Parameter reason: ``StoreState/retiredBecause``.
    package init(retired reason: String) {
        self.init(.configurationInvalid, reason, remedy: StoreMove.remedy(for: reason))
    }

    /// There is no key with this id.
    package static let noSuchKey = KeyServiceServerError(.noSuchKey, "There is no such key.")
    /// The key with this id is gone for good. Its row still shows that.
    static let keyIsGone = KeyServiceServerError(.noSuchKey, "The key has ended. Nothing unlocks it.")
    /// A stored value has the wrong form.
    package static let damagedRecord = KeyServiceServerError(.storeUnusable, "A record in the database is damaged.")
    static let keyLocked = KeyServiceServerError(.keyLocked, "The key is locked.")
    /// Too much work is waiting: try again soon.
    package static let busy = KeyServiceServerError(.busy, "Too much work is waiting.")
    package static let diskNearlyFull = KeyServiceServerError(
        .busy, "The disk of the database is nearly full, so no new keys are made. Free some space.")

    static func wrongSecret(guessesRemaining: Int?) -> KeyServiceServerError {
        KeyServiceServerError(.wrongSecret, "The secret is wrong.", guessesRemaining: guessesRemaining)
    }
}
