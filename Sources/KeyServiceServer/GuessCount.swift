/// The wrong guesses on a key.
public struct GuessCount: Sendable, Hashable {
    /// Those since the last right one.
    public let inARow: Int
    /// Those in the whole life of the key.
    public let inAll: Int
    /// When the last of those in a row came, in seconds since 1970; nil when there is none, or when it is not known.
    public let lastWrongAt: Int64?

    /// A count as it was stored. Less than none, in a damaged record, is none.
    public init(inARow: Int = 0, inAll: Int = 0, lastWrongAt: Int64? = nil) {
        self.inARow = max(0, inARow)
        self.inAll = max(0, inAll)
        self.lastWrongAt = lastWrongAt
    }
}

/// How many wrong guesses lock a key.
public struct GuessLimits: Sendable, Hashable {
    /// So many since the last right one.
    public let inARow: Int
    /// So many in the whole life of the key. It stops those who guess a little between any two logins of the owner.
    public let inAll: Int

    /// The limits of a service.
    public init(inARow: Int = 3, inAll: Int = 100) {
        self.inARow = max(0, inARow)
        self.inAll = max(0, inAll)
    }

    /// How many wrong guesses are left; 0 when the key is locked.
    public func remaining(after count: GuessCount) -> Int {
        max(0, min(inARow - count.inARow, inAll - count.inAll))
    }
}
