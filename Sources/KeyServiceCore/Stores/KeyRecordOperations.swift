/// The calls for the operator of a store, and for the start of a server. They also work while servers run.
///
/// All of them throw ``KeyServiceServerError`` with code `busy` (try again), `storeTooNew` or `storeUnusable`. The
/// calls that change keys by a rule are in `KeyRecordOperations+Rules.swift`, the same for all stores.
package protocol KeyRecordOperations: KeyRecordStore {
    /// Returns the state that all instances of the service share. Writes nothing.
    func state() async throws -> StoreState

    /// Writes the limits of wrong guesses, without a look at the keys: see ``setLimits(_:)``.
    func write(limits: GuessLimits) async throws

    /// Writes the generation, without a look at the keys: see ``acceptRollback(generation:now:)``.
    func write(generation: Int64) async throws

    /// Writes the clock, for a store that takes over from another one: an uncertain clock must stay uncertain.
    func write(clock: StoreClock) async throws

    /// Adds a master key to the list of allowed master keys. A known master key stays as it is.
    func addMasterKey(_ masterKey: StoredMasterKey) async throws

    /// Removes a master key from the list. After that, no record can be sealed under it.
    ///
    /// - Returns: false if records or the identity are still sealed under it. Then nothing was changed.
    func removeMasterKey(_ id: MasterKeyID) async throws -> Bool

    /// Returns the master keys of each other server that runs now, as its last check-in named them. A crashed server
    /// may still count as running for ``ServerCheckIn/lifetime``.
    func masterKeysOfServers() async throws -> [[MasterKeyID]]

    /// Returns the identity of the service; nil for a store that has none yet.
    func identity() async throws -> StoredIdentity?

    /// Replaces the identity of the service. The master key that it is sealed under cannot be removed from the list.
    ///
    /// - Parameters:
    ///   - old: the identity until now; nil for none.
    /// - Returns: false if the store has another identity. Then nothing was changed.
    func setIdentity(_ new: StoredIdentity, insteadOf old: StoredIdentity?) async throws -> Bool

    /// Returns the ids of the audit logs of the service. Each change by an operator needs a line in one of them; none
    /// if the service has no audit log.
    func auditLogs() async throws -> [[UInt8]]

    /// Adds an audit log of the service, for good. A known one stays as it is.
    ///
    /// - Parameter id: the id of the log.
    func addAuditLog(_ id: [UInt8]) async throws

    /// Carries out updates as ``KeyRecordStore/commit(_:lane:deadline:)``, beside the lanes.
    func operate(_ updates: [KeyUpdate]) async -> [Result<Void, any Error>]

    /// Returns a page of keys with all their stored values, the oldest first.
    ///
    /// - Parameters:
    ///   - row: the last row of the page before; nil for the first page.
    ///   - count: the most rows that the store looks at.
    ///   - selection: the keys to return. The others are left out, so a page may be empty.
    func page(after row: Int64?, count: Int, of selection: KeySelection) async throws -> KeyPage

    /// Returns the number of records under each master key.
    func counts() async throws -> [MasterKeyID: Int]

    /// Returns the live keys of an owner, the oldest first: at most 1,000.
    ///
    /// - Parameter owner: the keyed hash that the keys have, or ``StoredKey/nobodyYet``.
    func keys(ofOwner owner: [UInt8]) async throws -> KeyPage

    /// Deletes a key for good, also one that is damaged: see ``delete(keyID:)``.
    ///
    /// - Returns: false if there is no such key.
    func remove(keyID: String) async throws -> Bool

    /// Erases what deleted and ended keys left in the store's files.
    ///
    /// - Returns: false if old copies may remain there for a while.
    func eraseOldCopies() async throws -> Bool

    /// Sets the reason why no server may use this store, or takes it away with nil.
    ///
    /// - Parameters:
    ///   - reason: the new reason, one or two sentences for a person; nil for none.
    ///   - old: the reason until now; nil for a store in use.
    /// - Returns: false if the store has another reason. Then nothing was changed.
    func retire(because reason: String?, insteadOf old: String?) async throws -> Bool

    /// Puts keys of another store into this one, in one transaction. Each replaces a key with the same id.
    ///
    /// - Parameters:
    ///   - reason: the reason why this store is retired; nil for a store in use.
    /// - Returns: false if the store has another reason. Then nothing was changed.
    func put(_ keys: [StoredKey], whileRetiredBecause reason: String?) async throws -> Bool

    /// Deletes a key, if it is there.
    ///
    /// - Parameters:
    ///   - reason: the reason why this store is retired; nil for a store in use.
    /// - Returns: false if the store has another reason. Then nothing was changed.
    func delete(keyID: String, whileRetiredBecause reason: String?) async throws -> Bool
}

extension KeyRecordOperations {
    /// Uses the first lane.
    package func operate(_ updates: [KeyUpdate]) async -> [Result<Void, any Error>] {
        await commit(updates, lane: 0, deadline: .now + .seconds(60))
    }
}

/// The keys that a page has.
package enum KeySelection: Sendable, Hashable {
    case all
    /// The keys that were not confirmed yet, and those with guesses.
    case unsettled
    /// The keys that are sealed under another master key than this one.
    case notUnder(MasterKeyID)
}

package struct KeyPage: Sendable {
    /// The keys with their rows, the oldest first.
    package var keys: [(row: Int64, key: StoredKey)] = []
    /// The ids of the records that cannot be read.
    package var damaged: [String] = []
    /// The last row that the store looked at, for the next page; nil if no row is left.
    package var last: Int64?

    /// Makes an empty page.
    package init() {}

    /// Returns all keys of the page, for an operator: the error has an id, which no log may have.
    ///
    /// - Throws: ``KeyServiceServerError`` with code `storeUnusable` if a record of the page is damaged.
    package func undamagedKeys() throws -> [StoredKey] {
        guard let first = damaged.first else { return keys.map(\.key) }
        throw KeyServiceServerError(.storeUnusable, "The record of the key \(first) in the database is damaged.")
    }
}
