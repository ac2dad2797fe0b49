/// The calls for the operator of a store, and for the start of a server. They also work while servers run.
///
/// All of them throw ``KeyServiceServerError`` with code `busy` (try again), `storeTooNew` or `storeUnusable`.
public protocol KeyRecordOperations: KeyRecordStore {
    /// Returns the state that all instances of the service share. Writes nothing.
    func state() async throws -> StoreState

    /// Changes the limits of wrong guesses for all instances. Locked keys stay locked: before the change, each key that
    /// has reached an old limit is locked for good.
    func setLimits(_ limits: GuessLimits) async throws

    /// Adds a master key to the list of allowed master keys. A known master key stays as it is.
    func addMasterKey(_ masterKey: StoredMasterKey) async throws

    /// Removes a master key from the list. After that, no record can be sealed under it.
    ///
    /// - Returns: false if records or the identity are still sealed under it. Then nothing was changed.
    func removeMasterKey(_ id: MasterKeyID) async throws -> Bool

    /// Returns the identity of the service; nil for a store that has none yet.
    func identity() async throws -> StoredIdentity?

    /// Replaces the identity of the service. The master key that it is sealed under cannot be removed from the list.
    ///
    /// - Parameters:
    ///   - new: the new identity.
    ///   - old: the identity until now; nil for none.
    /// - Returns: false if the store has another identity. Then nothing was changed.
    func setIdentity(_ new: StoredIdentity, insteadOf old: StoredIdentity?) async throws -> Bool

    /// Returns the keys after a row, the oldest first.
    ///
    /// - Parameters:
    ///   - row: the row of the last key of the page before; nil for the first page.
    ///   - count: the number of keys, at most.
    func summaries(after row: Int64?, count: Int) async throws -> [KeyRecordSummary]

    /// Returns the records after a row that are sealed under another master key, with their rows, the oldest first.
    func records(notUnder id: MasterKeyID, after row: Int64?, count: Int) async throws -> [(row: Int64, KeyRecord)]

    /// Returns the number of records under each master key.
    func counts() async throws -> [MasterKeyID: Int]

    /// Gives a key all its guesses back, and unlocks it. A guess under way is not taken back a second time.
    ///
    /// - Throws: also `noSuchKey`. A revoked key stays as it is, and counts as missing.
    func unlock(keyID: String) async throws

    /// Ends a key for good, but keeps its row. Clients are told that the key is locked.
    ///
    /// - Throws: also `noSuchKey`.
    func revoke(keyID: String) async throws

    /// Returns the keys of an owner, the oldest first: at most 1,000.
    ///
    /// - Parameter owner: the keyed hash that the keys have.
    func keys(ofOwner owner: [UInt8]) async throws -> [StoredKey]

    /// Deletes keys of the protocol's version 2 that nobody confirmed in time, and destroys those that were locked for
    /// too long.
    ///
    /// - Parameters:
    ///   - unfinishedSince: unfinished keys of this time and before are deleted, in seconds since 1970.
    ///   - lockedSince: full keys without a try after this time are destroyed, in seconds since 1970.
    /// - Returns: the number of deleted and of destroyed keys.
    func sweep(unfinishedSince: Int64, lockedSince: Int64) async throws -> (deleted: Int, destroyed: Int)

    /// Ends live keys of the protocol's version 2 that had to be claimed, and that nobody claimed: see
    /// ``ObliviousKey/nobodyYet``.
    ///
    /// - Parameter time: keys of this time and before are ended, in seconds since 1970.
    /// - Returns: the number of ended keys.
    func endUnclaimedKeys(since time: Int64) async throws -> Int

    /// Deletes a key for good.
    ///
    /// - Returns: false if old copies of the record may remain in the store's files for a while.
    /// - Throws: also `noSuchKey`.
    func delete(keyID: String) async throws -> Bool

    /// Leaves each key at most one guess, and sets the generation. Call it after an older state of the store was put
    /// back: a thief must not get guesses again. A live key of the protocol's version 2 gets tries whose tickets nobody
    /// has. An unclaimed key stays from now on, because its owner perhaps claimed it after the older state was saved.
    ///
    /// - Parameters:
    ///   - generation: the new generation.
    ///   - now: the time of these tries, in seconds since 1970.
    func acceptRollback(generation: Int64, now: Int64) async throws

    /// Sets the reason why no server may use this store, or takes it away with nil.
    ///
    /// - Parameters:
    ///   - reason: the new reason, one or two sentences for a person; nil for none.
    ///   - old: the reason until now; nil for a store in use.
    /// - Returns: false if the store has another reason. Then nothing was changed.
    func retire(because reason: String?, insteadOf old: String?) async throws -> Bool

    /// Returns the keys after a row with all their stored values, the oldest first.
    func storedKeys(after row: Int64?, count: Int) async throws -> [(row: Int64, StoredKey)]

    /// Puts keys of another store into this one, in one transaction. Each replaces a key with the same id.
    ///
    /// - Parameters:
    ///   - keys: the keys.
    ///   - reason: the reason why this store is retired; nil for a store in use.
    /// - Returns: false if the store has another reason. Then nothing was changed.
    func put(_ keys: [StoredKey], whileRetiredBecause reason: String?) async throws -> Bool

    /// Deletes a key, if it is there.
    ///
    /// - Parameters:
    ///   - keyID: the id of the key.
    ///   - reason: the reason why this store is retired; nil for a store in use.
    /// - Returns: false if the store has another reason. Then nothing was changed.
    func delete(keyID: String, whileRetiredBecause reason: String?) async throws -> Bool
}

/// All stored values of a key, for a move to another store.
public struct StoredKey: Sendable, Hashable {
    /// The record.
    public var record: KeyRecord
    /// The wrong guesses.
    public var count: GuessCount
    /// The time when the key was last given out, in seconds since 1970; nil for never.
    public var lastUsedAt: Int64?
    /// The reason why the key is not released; nil for a key in use.
    public var lock: KeyRecordSummary.Lock?
    /// What only a key of the protocol's version 2 has; nil for other keys. Its record is the same.
    public var oblivious: ObliviousKey?

    /// Makes a key of the protocol's version 1 from its parts.
    public init(record: KeyRecord, count: GuessCount, lastUsedAt: Int64?, lock: KeyRecordSummary.Lock?) {
        self.record = record
        self.count = count
        self.lastUsedAt = lastUsedAt
        self.lock = lock
    }

    /// Makes a key of the protocol's version 2.
    ///
    /// - Parameters:
    ///   - key: the key.
    ///   - limits: the limits of the store.
    public init(_ key: ObliviousKey, _ limits: GuessLimits) {
        record = key.record
        count = GuessCount(inARow: key.tries.count, inAll: 0, lastWrongAt: key.tries.last?.openedAt)
        lastUsedAt = key.lastUsedAt
        lock =
            switch key.state {
            case .live: key.tries.count < limits.inARow ? nil : .locked
            case .unfinished: .unfinished
            case .ended: .ended
            case .revoked: .revoked
            case .destroyed: .destroyed
            }
        oblivious = key
    }
}

/// The state of a store that all instances of the service share.
public struct StoreState: Sendable, Hashable {
    /// The name of this database: 16 random bytes. A restored copy has the same name.
    public var storeID: [UInt8]
    /// A number that only grows. A smaller number means that an older state of the store was put back.
    public var generation: Int64
    /// The limits of wrong guesses.
    public var limits: GuessLimits
    /// The master keys that records may be sealed under.
    public var masterKeys: [StoredMasterKey]
    /// The reason why no server may use this store, such as a move to another one; nil for none.
    public var retiredBecause: String?

    /// Makes a state from its stored parts.
    public init(
        storeID: [UInt8], generation: Int64, limits: GuessLimits, masterKeys: [StoredMasterKey],
        retiredBecause: String? = nil
    ) {
        self.storeID = storeID
        self.generation = generation
        self.limits = limits
        self.masterKeys = masterKeys
        self.retiredBecause = retiredBecause
    }
}

/// The entry of a store for a master key.
public struct StoredMasterKey: Sendable, Hashable {
    /// The name of the master key.
    public var id: MasterKeyID
    /// A value that only this master key opens.
    public var check: [UInt8]

    /// Makes the entry of a master key.
    public init(id: MasterKeyID, check: [UInt8]) {
        self.id = id
        self.check = check
    }
}

/// An operator's view of a key.
public struct KeyRecordSummary: Sendable, Hashable {
    /// The row of the key, for the next page.
    public var row: Int64
    /// The id of the key, as clients send it.
    public var id: String
    /// The time when the key was made, in seconds since 1970.
    public var createdAt: Int64
    /// The time when the key was last given out, in seconds since 1970; nil for never.
    public var lastUsedAt: Int64?
    /// The wrong guesses on the key.
    public var wrongGuesses: GuessCount
    /// The reason why the key is not released; nil for a key in use.
    public var lock: Lock?
    /// The kind of the key, with its public values.
    public var details: KeyDetails
    /// The master key that the record is sealed under.
    public var masterKeyID: MasterKeyID

    /// The reason why a key is not released.
    public enum Lock: String, Sendable, Hashable {
        /// Too many wrong guesses.
        case locked
        /// The operator or the owner ended the key.
        case revoked
        /// The owner's client ended the key. Only keys of the protocol's version 2 have this state and the next ones.
        case ended
        /// The key was locked for so long that the service destroyed it.
        case destroyed
        /// The owner's client has not confirmed the new key yet.
        case unfinished
    }

    /// Makes a summary from its stored parts.
    public init(
        row: Int64, id: String, createdAt: Int64, lastUsedAt: Int64?, wrongGuesses: GuessCount, lock: Lock?,
        details: KeyDetails, masterKeyID: MasterKeyID
    ) {
        self.row = row
        self.id = id
        self.createdAt = createdAt
        self.lastUsedAt = lastUsedAt
        self.wrongGuesses = wrongGuesses
        self.lock = lock
        self.details = details
        self.masterKeyID = masterKeyID
    }
}
