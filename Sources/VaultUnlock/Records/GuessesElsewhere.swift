public import Foundation
public import VaultStorage

/// Guesses at an account's secret that were not made with this store, as its person was last told of them. Somebody may
/// have a copy of the store. A person may have missed the ``AccountNotice``, so an app can show these guesses later.
///
/// Only people should read this: a thief who can write the disk can change it.
public struct GuessesElsewhere: Sendable, Hashable {
    /// The kind of the unlock method that was tried.
    public let keyslot: Keyslot.Kind
    /// The number of guesses.
    public let count: Int
    /// The time of the last guess by the key service's clock; nil if the service did not tell.
    public let last: Date?
    /// Whether a guess was perhaps right. Then offer the person a new vault key.
    public let mayBeRight: Bool
    /// The time of the notice on this machine.
    public let toldAt: Date

    /// Makes a value for an app's own tests. The parameters are the properties.
    public init(keyslot: Keyslot.Kind, count: Int, last: Date?, mayBeRight: Bool, toldAt: Date) {
        self.keyslot = keyslot
        self.count = count
        self.last = last
        self.mayBeRight = mayBeRight
        self.toldAt = toldAt
    }

    init(_ told: KeyslotNotes.Told) {
        self.init(
            keyslot: Keyslot.Kind(rawValue: told.keyslot), count: told.count, last: told.last,
            mayBeRight: told.mayBeRight, toldAt: told.toldAt)
    }
}

extension Accounts {
    /// Returns the guesses that the last notice was about; nil if there was none.
    package func guessesElsewhere(of id: AccountID) async throws -> GuessesElsewhere? {
        try await KeyslotNotes(store: store, account: id).told().map(GuessesElsewhere.init)
    }
}
