/// An operator's view of a key.
package struct KeyRecordSummary: Sendable, Hashable {
    /// The id of the key, as clients send it.
    package var id: String
    /// The time when the key was made, in seconds since 1970.
    package var createdAt: Int64
    /// The time when the key was last given out, in seconds since 1970; nil for never.
    package var lastUsedAt: Int64?
    /// The guesses on the key that count as wrong.
    package var wrongGuesses: GuessCount
    /// The guesses that are left; 0 if the key is not released.
    package var guessesRemaining: Int
    /// The reason why the key is not released; nil for a key in use.
    package var lock: Lock?
    /// The kind of the key, with its public values.
    package var details: KeyDetails
    /// The master key that the record is sealed under.
    package var masterKeyID: MasterKeyID

    /// The reason why a key is not released.
    package enum Lock: String, Sendable, Hashable {
        /// Too many wrong guesses.
        case locked
        /// The operator or the owner ended the key.
        case revoked
        /// The owner's client ended the key. Only keys of the protocol's version 2 have this state and the next ones.
        case ended
        /// The key was locked for so long that the service destroyed it.
        case destroyed
        /// The owner's client has not confirmed the new key yet.
        case unfinished
    }

    /// Describes a key.
    package init(_ key: StoredKey, _ limits: GuessLimits) {
        id = key.record.id
        createdAt = key.record.createdAt
        lastUsedAt = key.lastUsedAt
        wrongGuesses = GuessCount(
            inARow: key.guesses.count, inAll: key.wrongInAll, lastWrongAt: key.guesses.last?.openedAt)
        guessesRemaining = key.state == .live ? key.remaining(limits) : 0
        lock =
            switch key.state {
            case .live: key.remaining(limits) > 0 ? nil : .locked
            case .unfinished: .unfinished
            case .ended: .ended
            case .revoked: .revoked
            case .destroyed: .destroyed
            }
        details = key.record.details
        masterKeyID = key.record.masterKeyID
    }
}

/// The wrong guesses on a key.
package struct GuessCount: Sendable, Hashable {
    /// The wrong guesses since the last right one.
    package let inARow: Int
    /// The wrong guesses in the whole life of the key.
    package let inAll: Int
    /// The time of the last wrong guess in a row, in seconds since 1970; nil if there is none, or if the time is
    /// unknown.
    package let lastWrongAt: Int64?

    /// Makes a count from its stored form. A negative count, in a damaged record, becomes 0.
    package init(inARow: Int = 0, inAll: Int = 0, lastWrongAt: Int64? = nil) {
        self.inARow = max(0, inARow)
        self.inAll = max(0, inAll)
        self.lastWrongAt = lastWrongAt
    }
}
