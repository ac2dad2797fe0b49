// The rule for an owner who unlocks a key, for version 2.
extension StoredKey {
    /// The time between two unlocks, in seconds.
    static let ownerUnlockInterval: Int64 = 24 * 3600

    /// Gives a locked key its guesses back. These guesses add up, so that a thief who signs in as the owner each day
    /// cannot guess forever.
    ///
    /// - Parameters:
    ///   - now: the time in seconds since 1970.
    ///   - limits: the limits of all instances of the service.
    /// - Returns: false if the key is not locked. The answer to an earlier call may have been lost.
    /// - Throws: `unlockedToday` or `guessesSpent`.
    mutating func unlock(byOwnerAt now: Int64, _ limits: GuessLimits) throws(DeviceKeeper.Refusal) -> Bool {
        guard state == .live, isOPRF, remaining(limits) == 0 else { return false }
        if let last = ownerUnlockedAt, last > now - Self.ownerUnlockInterval { throw .unlockedToday }
        let spent = wrongInAll + guesses.count
        // The limit must also have room for the guesses that the unlock gives back.
        guard spent + limits.inARow <= limits.inAll else { throw .guessesSpent }
        wrongInAll = spent
        guesses = []
        ownerUnlockedAt = now
        return true
    }
}
