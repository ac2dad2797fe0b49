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
        /// The guess was wrong: its try stays.
        case wrong
        /// The guess was right: takes back its try, and forgets the wrong guesses before it.
        case right(time: Int64, forgetting: [[UInt8]])
        /// The guess was right, but the client makes a new key after wrong guesses: takes back only its own try.
        case rightAndKept(time: Int64)
        /// Nobody learned anything from this guess: takes back its try.
        case unused
    }

    /// The longest time in which a guess counts as under way, in seconds. Safety does not depend on it: the try of a
    /// guess whose service died stays.
    static let evaluationTime: Int64 = 10

    /// Makes the name of a new try.
    static func newTicket() -> [UInt8] { random(16) }

    /// Opens a try for a guess, which counts as wrong from now on. The same ticket again is the same try, because a
    /// store may repeat a change whose answer was lost.
    ///
    /// - Parameters:
    ///   - ticket: the name of the new try.
    ///   - limits: the limits of all instances of the service.
    ///   - now: the time in seconds since 1970.
    mutating func charge(_ ticket: [UInt8], _ limits: GuessLimits, now: Int64) throws(GuessRefusal) {
        if state == .live, tries.contains(where: { $0.ticket == ticket }) { return }
        guard !isLocked(limits, now: now) else { throw .locked }
        guard remaining(limits) > 0 else { throw .underWay }
        tries.append(Try(ticket: ticket, openedAt: now, isUnderWay: true))
        wrongInAll += 1
    }

    /// Whether no guess is left, or the key was revoked. A key does not count as locked while a guess is under way,
    /// which may be right.
    func isLocked(_ limits: GuessLimits, now: Int64) -> Bool {
        state != .live || remaining(limits) == 0 && !tries.contains { $0.isUnderWay(at: now) }
    }

    /// Settles a guess after its evaluation.
    ///
    /// - Returns: false if the try is gone, because an operator unlocked the key. Then nothing changes.
    mutating func settle(_ ticket: [UInt8], _ result: GuessResult) -> Bool {
        guard let place = tries.firstIndex(where: { $0.ticket == ticket }) else { return false }
        guard result != .wrong else {
            tries[place].isUnderWay = false
            return true
        }
        tries.remove(at: place)
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
        tries.removeAll { wrong.contains($0.ticket) }
        lastUsedAt = time
    }

    /// The tries that are known to be wrong.
    ///
    /// - Parameters:
    ///   - ticket: a try that does not count, because it is the guess of the caller; nil for none.
    ///   - now: the time in seconds since 1970.
    func wrongTries(besides ticket: [UInt8]? = nil, now: Int64) -> [Try] {
        tries.filter { $0.ticket != ticket && !$0.isUnderWay(at: now) }
    }
}

extension StoredKey.Try {
    /// Whether the service may still evaluate the guess. The clocks of two instances differ, and a clock that was set
    /// back must not keep it open for long.
    fileprivate func isUnderWay(at now: Int64) -> Bool {
        let limit = StoredKey.evaluationTime
        return isUnderWay && (-limit...limit).contains(now.subtractingReportingOverflow(openedAt).0)
    }
}
