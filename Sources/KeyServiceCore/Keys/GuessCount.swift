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

/// The numbers of wrong guesses that lock a key.
package struct GuessLimits: Sendable, Hashable {
    /// The limit since the last right guess.
    package let inARow: Int
    /// The limit in the whole life of the key. It stops a thief who guesses a little between the owner's logins.
    package let inAll: Int

    /// Makes the limits of a service.
    package init(inARow: Int = 3, inAll: Int = 100) {
        self.inARow = max(0, inARow)
        self.inAll = max(0, inAll)
    }
}
