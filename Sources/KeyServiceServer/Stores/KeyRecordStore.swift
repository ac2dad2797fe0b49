/// The store of the records and their guess counters.
///
/// The service calls ``commit(_:)`` from one thread, which may block. A conformer must not answer from a cache, as an
/// operator may unlock or delete keys while the service runs. It must not assume that the process ends in an orderly
/// way.
public protocol KeyRecordStore: Sendable {
    /// Carries out the changes in order, all or none, and returns when they survive a crash of the machine.
    ///
    /// - Returns: one outcome for each change, in the same order.
    /// - Throws: ``KeyServiceServerError`` with code `busy` or `storeUnusable`. Then no change has happened.
    func commit(_ changes: [KeyRecordChange]) throws -> [KeyRecordOutcome]
}

/// One change of a ``KeyRecordStore``.
public enum KeyRecordChange: Sendable {
    /// Adds a key with no wrong guesses. Outcome: `done`.
    case insert(KeyRecord)
    /// Looks up a key and counts nothing. Outcome: `found`, `locked` or `noSuchKey`.
    case find(keyID: String, limits: GuessLimits)
    /// Counts one more wrong guess at `time` (seconds since 1970), unless a limit is reached. Outcome: `found`; or
    /// `locked` or `noSuchKey`, and nothing was counted.
    case charge(keyID: String, limits: GuessLimits, time: Int64)
    /// Notes a right guess: sets the wrong guesses in a row to 0, and the last use to `time` (seconds since 1970). If
    /// this guess was charged, the count of all wrong guesses drops by one. Outcome: `done`, even for a deleted key.
    case succeed(keyID: String, wasCharged: Bool, time: Int64)
    /// Takes back the charge of a guess, and sets the time of the last wrong guess to `lastWrongAt`. `usedAt` is the
    /// time of use, or nil for no use (seconds since 1970). Outcome: `done`.
    case giveBack(keyID: String, lastWrongAt: Int64?, usedAt: Int64?)
    /// Writes the time, as a proof that writing works, and stores `masterKeyCheck` if there is none yet. Outcome:
    /// `checkedIn` with the stored check.
    case checkIn(masterKeyCheck: [UInt8], time: Int64)
}

/// The outcome of a ``KeyRecordChange``.
public enum KeyRecordOutcome: Sendable {
    /// The change was made.
    case done
    /// The key, and the wrong guesses before this one.
    case found(KeyRecord, GuessCount)
    /// A limit of wrong guesses was reached before, so nothing was counted.
    case locked
    /// There is no key with this id.
    case noSuchKey
    /// The store can be written, and belongs to the master key that opens this check.
    case checkedIn(masterKeyCheck: [UInt8])
}
