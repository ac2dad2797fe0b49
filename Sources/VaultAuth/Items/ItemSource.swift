package import VaultStorage

/// Reads and writes the items of an open account, in this process or through an agent.
///
/// A conformer must not assume that nobody else changes the items meanwhile. It must not store content that ends in a
/// cancelled task: many sequences just end then, and the content is not complete. It refuses names that an app's item
/// cannot have (`ItemName.requireOfApp()`), and content beyond ``SessionItems/maximumSize``. Every method that throws
/// throws ``VaultError`` and has then changed nothing.
package protocol ItemSource: Sendable {
    /// The names of the app's own items, sorted.
    func names() async throws -> [ItemName]

    /// Returns an item as it is stored now; nil if there is none. Its content throws `busy` if the item changes before
    /// all of it was read.
    func read(_ name: ItemName) async throws -> StoredItem?

    /// Stores an item durably, completely or not at all. Replaces the old content.
    ///
    /// - Returns: false if the item is not as `expected`. Then nothing was changed.
    func write<Content: AsyncSequence & Sendable>(
        _ name: ItemName, _ content: Content, if expected: ItemExpectation
    ) async throws -> Bool where Content.Element == [UInt8]

    /// Removes an item.
    ///
    /// - Returns: whether there was one.
    func remove(_ name: ItemName) async throws -> Bool
}

/// The state that a write expects.
package enum ItemExpectation: Sendable, Hashable {
    /// Any state.
    case any
    /// The item does not exist.
    case absent
    /// The item has not changed since this revision was read.
    case revision(ItemRevision)

    package init(_ revision: ItemRevision?) { self = revision.map { .revision($0) } ?? .absent }

    func accepts(_ revision: ItemRevision?) -> Bool { self == .any || self == ItemExpectation(revision) }
}
