public import VaultStorage

/// The state that a write expects.
public enum ItemExpectation: Sendable, Hashable {
    /// Any state.
    case any
    /// The item does not exist.
    case absent
    /// The item has not changed since this revision was read.
    case revision(ItemRevision)

    /// - Parameter revision: the revision that was read; nil if there was no item.
    public init(_ revision: ItemRevision?) { self = revision.map { .revision($0) } ?? .absent }

    /// Whether an item with this revision is as expected; nil for no item.
    public func accepts(_ revision: ItemRevision?) -> Bool { self == .any || self == ItemExpectation(revision) }
}
