package import VaultStorage

/// Where the items of an open account are read and written: in this process, or by an agent.
///
/// A conformer must not assume that nobody else changes the items meanwhile. Nor must it assume that content which ends in
/// a cancelled task was whole: many a sequence just ends then, and nothing may be stored. It refuses names that no item of
/// an app can have (`ItemName.requireOfApp()`), and content beyond ``SessionItems/maximumSize``. Everything that throws
/// throws ``VaultError``; nothing was changed then.
package protocol ItemSource: Sendable {
    /// The names of the app's own items, sorted.
    func names() async throws -> [ItemName]

    /// An item as it is stored now; nil when there is none. Its content throws `busy` when the item is changed before all
    /// of it was read.
    func read(_ name: ItemName) async throws -> StoredItem?

    /// Stores an item in place of what it was, durably and all of it or nothing.
    ///
    /// - Returns: false when the item is not `expected`. Then nothing was changed.
    func write<Content: AsyncSequence & Sendable>(
        _ name: ItemName, _ content: Content, if expected: ItemExpectation
    ) async throws -> Bool where Content.Element == [UInt8]

    /// Removes an item.
    ///
    /// - Returns: whether there was one.
    func remove(_ name: ItemName) async throws -> Bool
}

/// What a write takes for granted.
package enum ItemExpectation: Sendable, Hashable {
    /// Nothing.
    case any
    /// That there is no such item.
    case absent
    /// That the item is as it was when this revision was read.
    case revision(ItemRevision)

    package init(_ revision: ItemRevision?) { self = revision.map { .revision($0) } ?? .absent }

    func accepts(_ revision: ItemRevision?) -> Bool { self == .any || self == ItemExpectation(revision) }
}
