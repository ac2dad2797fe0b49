/// Where the records and their guess counters are kept.
///
/// The service calls ``commit(_:)`` from one thread, which it may block. A conformer must not assume that nobody else
/// changes the data (an operator unlocks and deletes keys while the service runs), so it must not answer from a cache,
/// and it must not assume that the process ends in an orderly way.
public protocol KeyRecordStore: Sendable {
    /// Carries out the changes one after the other, all of them or none, and returns when they would survive a crash
    /// of the machine.
    ///
    /// - Returns: one outcome for each change, in the same order.
    /// - Throws: ``KeyServiceServerError`` with code `busy` or `storeUnusable`. None of the changes has happened then.
    func commit(_ changes: [KeyRecordChange]) throws -> [KeyRecordOutcome]
}

/// One change of a ``KeyRecordStore``.
public enum KeyRecordChange: Sendable {
    /// Adds a key with no wrong guesses. Outcome: `done`.
    case insert(KeyRecord)
    /// Looks a key up and counts nothing. Outcome: `found`, `locked` or `noSuchKey`.
    case find(keyID: String, limits: GuessLimits)
    /// Counts one more wrong guess, at `time` (seconds since 1970), unless one of the limits is reached.
    /// Outcome: `found`, or `locked` or `noSuchKey` when nothing was counted.
    case charge(keyID: String, limits: GuessLimits, time: Int64)
    /// The guess was right: no wrong guesses in a row are left on the key, which was used at `time` (seconds since 1970).
    /// Of all wrong guesses, one less, if this one was charged. Outcome: `done`, also when the key was deleted meanwhile.
    case succeed(keyID: String, wasCharged: Bool, time: Int64)
    /// The charged guess was none: one wrong guess less, and the last one came at `lastWrongAt`. `usedAt`, unless it is
    /// nil, is when the key was used (seconds since 1970). Outcome: `done`.
    case giveBack(keyID: String, lastWrongAt: Int64?, usedAt: Int64?)
    /// Writes the time, as a proof that writing works, and keeps `masterKeyCheck` when there is none yet.
    /// Outcome: `checkedIn` with the one that is kept.
    case checkIn(masterKeyCheck: [UInt8], time: Int64)
}

/// What became of a ``KeyRecordChange``.
public enum KeyRecordOutcome: Sendable {
    /// It was done.
    case done
    /// The key, and the wrong guesses before this one.
    case found(KeyRecord, GuessCount)
    /// As many wrong guesses are counted as are allowed; nothing was counted.
    case locked
    /// There is no key of that id.
    case noSuchKey
    /// The store can be written, and belongs to the master key that opens this.
    case checkedIn(masterKeyCheck: [UInt8])
}
