/// The store of the records and their guess counters, for the running service.
///
/// A conformer must not answer from a cache: other instances of the service use the same store, and an operator may
/// unlock or delete keys. It must not assume that the process ends in an orderly way. ``KeyRecordOperations`` has the
/// operator's calls.
public protocol KeyRecordStore: Sendable {
    /// The number of batches that may be under way at a time, at least 1. All changes to one key use the same
    /// lane, one batch after the other.
    var lanes: Int { get }

    /// Carries out the changes in order, and returns when they survive a crash of the machine. It may block: the
    /// service calls it on a thread of the lane.
    ///
    /// A change that fails does not make the others fail.
    ///
    /// - Parameters:
    ///   - changes: the changes, of different keys or of one.
    ///   - lane: the number of the lane, from 0.
    ///   - deadline: after this time nobody waits for an outcome.
    /// - Returns: for each change, in the same order, its outcome or a ``KeyServiceServerError`` with code `busy`,
    ///   `storeUnusable` or `storeTooNew`. If the outcome is unknown, the change may have happened. Then the caller
    ///   settles the ticket of a charge as unused.
    func commit(_ changes: [KeyRecordChange], lane: Int, deadline: ContinuousClock.Instant) async
        -> [Result<KeyRecordOutcome, KeyServiceServerError>]

    /// Ends the use of the store. Every later call fails. A conformer need not wait for calls under way.
    func close()
}

extension KeyRecordStore {
    /// One batch at a time.
    public var lanes: Int { 1 }
    /// Does nothing.
    public func close() {}
}

/// The proof that a guess was charged. Its holder may settle the guess once, unless a later charge replaced the ticket.
public struct GuessTicket: Sendable, Hashable {
    /// The time for which other charges wait for this ticket, in seconds. Safety does not depend on it: a later
    /// charge may replace the ticket, and then the guess stays charged.
    public static let lifetime: Int64 = 10

    /// A random number.
    public let rawValue: Int64

    /// Makes a ticket for a new charge.
    public static func random() -> GuessTicket {
        GuessTicket(rawValue: .random(in: .min ... .max))
    }

    /// Makes a ticket from its stored number.
    public init(rawValue: Int64) {
        self.rawValue = rawValue
    }
}

/// The name of a key in a change.
public struct KeyReference: Sendable, Hashable {
    /// The id of the key, as clients send it.
    public var id: String
    /// The number of its row in the store; nil if the answer of the store was lost.
    public var row: Int64?

    /// Makes a reference.
    public init(id: String, row: Int64? = nil) {
        self.id = id
        self.row = row
    }
}

/// One change of a ``KeyRecordStore``. All times are seconds since 1970.
public enum KeyRecordChange: Sendable {
    /// Adds a key with no wrong guesses. Outcome: `done`, also if the same record is there already; or `exists` if
    /// another record has its id.
    case insert(KeyRecord)
    /// Looks up a key and counts nothing. Outcome: `found`, `locked` or `noSuchKey`.
    case find(keyID: String)
    /// Counts one more wrong guess, and locks the key if this reaches a limit. No other charge of the key succeeds
    /// until the guess is settled, or the ticket's lifetime is over. Outcome: `found`; or `held`, `locked` or
    /// `noSuchKey`, and nothing was counted.
    case charge(keyID: String, ticket: GuessTicket, time: Int64)
    /// Settles a charged guess. Outcome: `done`; or `superseded` if the ticket is not the key's last one, and nothing
    /// was changed.
    case settle(KeyReference, ticket: GuessTicket, GuessResult)
    /// Notes a right long secret, which is not charged: sets the wrong guesses in a row to 0 if no ticket is open, and
    /// the last use to `time`. Outcome: `done`, also for a deleted key.
    case noteUse(KeyReference, time: Int64)
    /// Replaces the content `replaced` with a new content, and with its details and master key. The details of a key of
    /// the protocol's version 2 stay as they are. Outcome: `done`; or
    /// `superseded` if the record has another content now, or is gone.
    case reseal(KeyRecord, replaced: [UInt8])
    /// Reads a key of the protocol's version 2, lets the update change it, and writes the difference. Outcome: `done`.
    case update(keyID: String, ObliviousUpdate)
    /// Writes the time, as a proof that writing works, and adds 1 to the generation. Outcome: `checkedIn`.
    case checkIn(time: Int64)
}

/// A change of one key of the protocol's version 2.
public struct ObliviousUpdate: Sendable {
    /// The key as it is stored.
    public enum Found: Sendable {
        /// There is no key with this id.
        case nothing
        /// The id belongs to a key of version 1.
        case otherVersion
        /// The key.
        case key(ObliviousKey)
    }

    /// Whether the update may add a key. A store with a nearly full disk refuses such an update.
    public let mayAdd: Bool

    /// Returns the key as it is to be stored; nil for no key. A key that was found is then deleted. After
    /// ``Found/otherVersion`` the store writes nothing.
    ///
    /// A store may call it several times for one change, and drop all results but the last. If it throws, the change
    /// fails with this error, and nothing is written.
    public let apply: @Sendable (Found, GuessLimits) throws -> ObliviousKey?

    /// Makes an update.
    ///
    /// - Parameters:
    ///   - mayAdd: whether the update may add a key.
    ///   - apply: returns the key as it is to be stored.
    public init(mayAdd: Bool, _ apply: @escaping @Sendable (Found, GuessLimits) throws -> ObliviousKey?) {
        self.mayAdd = mayAdd
        self.apply = apply
    }
}

/// The result of a charged guess.
public enum GuessResult: Sendable, Hashable {
    /// The guess was wrong: the charge stays.
    case wrong
    /// The guess was right: sets the wrong guesses in a row to 0, takes one from the count of all, unlocks the key, and
    /// notes the use.
    case right(time: Int64)
    /// The guess was right, but the client makes a new key after wrong guesses: takes back only this charge, and notes
    /// the use. `lastWrongAt` is the time of the last wrong guess before.
    case rightAndKept(lastWrongAt: Int64?, time: Int64)
    /// Nobody learned anything from this guess: takes back the charge. `lastWrongAt` as above, or nil if the answer to
    /// the charge was lost.
    case unused(lastWrongAt: Int64?)
}

/// The outcome of a ``KeyRecordChange``.
public enum KeyRecordOutcome: Sendable {
    /// The change was made.
    case done
    /// Another record has this id. Nothing was changed.
    case exists
    /// The key, before this guess.
    case found(FoundKey)
    /// Another guess on the key is under way. Nothing was counted: try again soon.
    case held
    /// A limit of wrong guesses was reached before, or the operator revoked the key. Nothing was counted.
    case locked
    /// There is no key with this id.
    case noSuchKey
    /// The change came too late. Nothing was changed.
    case superseded
    /// The store can be written.
    case checkedIn(StoreState)
}

/// A key that was looked up.
public struct FoundKey: Sendable {
    /// The key, for later changes.
    public var reference: KeyReference
    /// The record.
    public var record: KeyRecord
    /// The wrong guesses before this one.
    public var count: GuessCount
    /// The limits of all instances of the service.
    public var limits: GuessLimits

    /// Makes the answer to a look-up.
    public init(reference: KeyReference, record: KeyRecord, count: GuessCount, limits: GuessLimits) {
        self.reference = reference
        self.record = record
        self.count = count
        self.limits = limits
    }
}
