// The rules about guesses of the protocol's version 2. A store reads a key, calls one of them, and writes the result in
// the same transaction.
extension StoredKey {
    /// The reason why a call changes nothing.
    package enum Refusal: Error, Hashable {
        /// Another key has the id.
        case exists
        /// The key has another confirm key.
        case conflict
        /// The key was not confirmed yet.
        case unfinished
        /// No guess is left, but a recent one may be right: ask again soon.
        case busy
        /// No guess is left.
        case locked
        /// The key is gone for good.
        case gone(State)
    }

    /// The time in which a full key counts as busy after its last guess, in seconds: its owner may be about to confirm
    /// it.
    static let busyTime: Int64 = 10
    /// The time in which a new key must be confirmed, in seconds.
    package static let unfinishedLifetime: Int64 = 24 * 3600
    /// The time in which a new key must be claimed, in seconds, if its ``owner`` is ``nobodyYet``.
    package static let unclaimedLifetime: Int64 = 24 * 3600
    /// The owner of a key that ends unless somebody claims it in time. No person has this owner: a hash is longer.
    package static let nobodyYet: [UInt8] = [0]

    var endKey: [UInt8] { if case .oprf(let endKey, _) = record.details { endKey } else { [] } }

    /// The public key that confirms guesses; nil for an unfinished key.
    var confirmKey: [UInt8]? { if case .oprf(_, let confirmKey) = record.details { confirmKey } else { nil } }

    // MARK: - The rules

    /// Opens a guess. It never destroys a key that was locked for too long, because the clock may be wrong.
    ///
    /// - Parameters:
    ///   - ticket: the ticket of the guess if it is a new one.
    ///   - now: the time in seconds since 1970.
    /// - Returns: the guess. Evaluate its element only after the key is stored.
    mutating func evaluate(_ blinded: [UInt8], ticket: [UInt8], limit: Int, now: Int64) throws(Refusal) -> Guess {
        try requireUsable()
        guard state == .live else { throw .unfinished }
        if let known = guesses.first(where: { $0.blinded == blinded }) { return known }
        guard guesses.count < limit else {
            let youngest = guesses.map(\.openedAt).max() ?? now
            // A clock that was set back must not keep a key busy for long.
            throw (now - Self.busyTime + 1...now).contains(youngest) ? .busy : .locked
        }
        let new = Guess(ticket: ticket, blinded: blinded, openedAt: now)
        guesses.append(new)
        return new
    }

    /// Takes guesses back. The signatures were checked before.
    ///
    /// - Parameters:
    ///   - tickets: the guesses. Unknown ones are ignored.
    ///   - now: the time in seconds since 1970.
    mutating func confirm(_ tickets: [[UInt8]], confirmKey: [UInt8], now: Int64) throws(Refusal) {
        try requireUsable()
        if let known = self.confirmKey, known != confirmKey { throw .conflict }
        record.details = .oprf(endKey: endKey, confirmKey: confirmKey)
        state = .live
        let before = guesses.count
        guesses.removeAll { tickets.contains($0.ticket) }
        if guesses.count < before { lastUsedAt = now }
    }

    /// Sets the owner.
    mutating func claim(for new: [UInt8]) throws(Refusal) {
        try requireUsable()
        guard state == .live else { throw .unfinished }
        guard owner == nil || owner == Self.nobodyYet || owner == new else { throw .conflict }
        owner = new
    }

    /// Ends the key for good. Erases its guesses, and in version 2 the key of the function. The rest stays, so that the
    /// service can tell clients why.
    mutating func end(_ state: State) {
        guard !self.state.isFinal else { return }
        self.state = state
        guard isOPRF else { return }
        guesses = []
        record.content = OPRFContent.withoutKey(record.content)
    }

    private func requireUsable() throws(Refusal) {
        if state.isFinal { throw .gone(state) }
    }
}
