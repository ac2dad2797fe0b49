// The rules about guesses of the protocol's version 1.
extension StoredKey {
    /// The reason why a guess is not charged.
    enum GuessRefusal: Error, Hashable {
        /// No guess is left, but one under way may be right: try again soon.
        case underWay
        /// No guess is left, or the key was revoked.
        case locked
    }

    /// The result of a charged guess.
    enum GuessResult: Sendable, Hashable {
        /// The guess was wrong: it stays.
        case wrong
        /// The guess was right: takes it back, and forgets the wrong guesses before it.
        case right(time: Int64, forgetting: [[UInt8]])
        /// The guess was right, but the client makes a new key after wrong guesses: takes back only this guess.
        case rightAndKept(time: Int64)
        /// Nobody learned anything from this guess: takes it back.
        case unused
    }

    /// The longest time in which a guess counts as under way, in seconds. Safety does not depend on it: a guess
    /// whose service died stays counted.
    static let evaluationTime: Int64 = 10

    /// Makes the name of a new guess.
    static func newTicket() -> [UInt8] { random(16) }

    /// Opens a guess, which counts as wrong from now on. The same ticket again is the same guess, because a
    /// store may repeat a change whose answer was lost.
    ///
    /// - Parameters:
    ///   - limits: the limits of all instances of the service.
    ///   - now: the time in seconds since 1970.
    mutating func charge(_ ticket: [UInt8], _ limits: GuessLimits, now: Int64) throws(GuessRefusal) {
        if state == .live, guesses.contains(where: { $0.ticket == ticket }) { return }
        guard !isLocked(limits, now: now) else { throw .locked }
        guard remaining(limits) > 0 else { throw .underWay }
        guesses.append(Guess(ticket: ticket, openedAt: now, isUnderWay: true))
        wrongInAll += 1
    }

    /// Whether no guess is left, or the key was revoked. A key does not count as locked while a guess is under way,
    /// which may be right.
    func isLocked(_ limits: GuessLimits, now: Int64) -> Bool {
        state != .live || remaining(limits) == 0 && !guesses.contains { $0.isUnderWay(at: now) }
    }

    /// Settles a guess after its evaluation.
    ///
    /// - Returns: false if the guess is gone, because an operator unlocked the key. Then nothing changes.
    mutating func settle(_ ticket: [UInt8], _ result: GuessResult) -> Bool {
        guard let place = guesses.firstIndex(where: { $0.ticket == ticket }) else { return false }
        guard result != .wrong else {
            guesses[place].isUnderWay = false
            return true
        }
        guesses.remove(at: place)
        wrongInAll = max(0, wrongInAll - 1)
        switch result {
        case .right(let time, let wrong): noteUse(at: time, forgetting: wrong)
        case .rightAndKept(let time): lastUsedAt = time
        case .wrong, .unused: break
        }
        return true
    }

    /// Notes a right long secret, which is not charged, or another right guess.
    ///
    /// - Parameter wrong: the tickets of the wrong guesses before it. Later ones stay: this call may come late.
    mutating func noteUse(at time: Int64, forgetting wrong: [[UInt8]]) {
        guesses.removeAll { wrong.contains($0.ticket) }
        lastUsedAt = time
    }

    /// The guesses that are known to be wrong.
    ///
    /// - Parameters:
    ///   - ticket: a guess that does not count, because it is the caller's; nil for none.
    ///   - now: the time in seconds since 1970.
    func wrongGuesses(besides ticket: [UInt8]? = nil, now: Int64) -> [Guess] {
        guesses.filter { $0.ticket != ticket && !$0.isUnderWay(at: now) }
    }
}

extension StoredKey.Guess {
    /// Whether the service may still evaluate the guess. The clocks of two instances differ, and a clock that was set
    /// back must not keep it open for long.
    fileprivate func isUnderWay(at now: Int64) -> Bool {
        let limit = StoredKey.evaluationTime
        return isUnderWay && (-limit...limit).contains(now.subtractingReportingOverflow(openedAt).0)
    }
}
