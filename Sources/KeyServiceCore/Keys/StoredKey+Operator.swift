// The operator's rules, for both versions. Nobody here has the master key.
extension StoredKey {
    /// Gives a live key all its guesses back. A guess under way is not taken back a second time.
    ///
    /// - Throws: `noSuchKey` for a key that is gone for good, or was not confirmed yet.
    mutating func unlock() throws {
        guard !state.isFinal else { throw KeyServiceServerError.keyIsGone }
        guard state == .live else { throw KeyServiceServerError.noSuchKey }
        guesses = []
        wrongInAll = 0
    }

    /// Adapts the key to a change of the limits. A locked key stays locked.
    mutating func adapt(from old: GuessLimits, to new: GuessLimits) {
        guard state == .live else { return }
        if guesses.count >= old.inARow {
            if let youngest = guesses.last?.openedAt { fill(to: new.inARow, at: youngest) }
        } else if isOPRF, guesses.count >= new.inARow {
            // It has a guess left, so it keeps one. Otherwise it would count as locked, and be destroyed after a while.
            guesses.removeLast(guesses.count - new.inARow + 1)
        }
        if !isOPRF, wrongInAll >= old.inAll { wrongInAll = max(wrongInAll, new.inAll) }
    }

    /// Leaves the key at most one guess, because a thief may have used the others. An unclaimed key stays from now on,
    /// because its owner perhaps claimed it after the older state of the store was saved.
    mutating func leaveOneGuess(_ limits: GuessLimits, now: Int64) {
        if !isOPRF {
            // A guess from before gives nothing back.
            guesses = guesses.map { Guess(ticket: Self.random(16), openedAt: $0.openedAt) }
        }
        if owner == Self.nobodyYet { owner = nil }
        if state == .live { fill(to: limits.inARow - 1, at: now) }
    }

    /// Adds guesses whose tickets nobody has.
    private mutating func fill(to count: Int, at time: Int64) {
        while guesses.count < count {
            guesses.append(Guess(ticket: Self.random(16), blinded: isOPRF ? Self.random(32) : [], openedAt: time))
        }
    }
}
