/// The state of a store that all instances of the service share.
package struct StoreState: Sendable, Hashable {
    /// The name of this database: 16 random bytes. A restored copy has the same name.
    package var storeID: [UInt8]
    /// A number that only grows. A smaller number means that an older state of the store was put back.
    package var generation: Int64
    /// The clock that says when old keys may be erased.
    package var clock: StoreClock
    /// The limits of wrong guesses.
    package var limits: GuessLimits
    /// The master keys that records may be sealed under.
    package var masterKeys: [StoredMasterKey]
    /// The reason why no server may use this store, such as a move to another one; nil for none.
    package var retiredBecause: String?

    /// Makes a state from its stored parts.
    package init(
        storeID: [UInt8], generation: Int64, clock: StoreClock = StoreClock(), limits: GuessLimits,
        masterKeys: [StoredMasterKey], retiredBecause: String? = nil
    ) {
        self.storeID = storeID
        self.generation = generation
        self.clock = clock
        self.limits = limits
        self.masterKeys = masterKeys
        self.retiredBecause = retiredBecause
    }
}

package struct StoredMasterKey: Sendable, Hashable {
    /// The name of the master key.
    package var id: MasterKeyID
    /// A value that only this master key opens.
    package var check: [UInt8]

    /// Makes the entry of a master key.
    package init(id: MasterKeyID, check: [UInt8]) {
        self.id = id
        self.check = check
    }
}
