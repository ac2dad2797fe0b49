internal import VaultCrypto

/// A mark that changes with each write of an item. It says nothing about the content: the same content sealed again
/// gets another mark.
public struct ItemRevision: Hashable, Sendable {
    package let bytes: [UInt8]

    /// - Parameter bytes: the mark.
    public init(bytes: [UInt8]) { self.bytes = bytes }

    /// - Parameter sealed: the item's sealed bytes, or its head. Both hold a nonce, so they differ after each write.
    package init(of sealed: [UInt8]) { bytes = Checksum.of([Array("item revision".utf8), sealed]) }
}

/// An app's own item, as it is stored now.
public struct StoredItem: Sendable {
    /// The mark of this content.
    public let revision: ItemRevision
    /// The content. Each piece is opened on request. The content can be read only once.
    public let content: ItemContent

    /// - Parameters:
    ///   - revision: the mark of this content.
    ///   - content: the content.
    public init(revision: ItemRevision, content: ItemContent) {
        self.revision = revision
        self.content = content
    }
}

/// Pieces that are made on request.
///
/// An `AsyncThrowingStream` would not do: it ends without an error when the task is cancelled. A part of an item would
/// then look like the whole item.
public struct ItemContent: AsyncSequence, Sendable {
    /// Makes the pieces.
    public struct AsyncIterator: AsyncIteratorProtocol {
        let piece: @Sendable () async throws -> [UInt8]?

        /// Returns the next piece; nil after the last one.
        public mutating func next() async throws -> [UInt8]? {
            guard !Task.isCancelled else { throw VaultError(.cancelled, "Cancelled.") }
            return try await piece()
        }
    }

    private let piece: @Sendable () async throws -> [UInt8]?

    /// - Parameter next: returns the next piece, or nil after the last one.
    public init(_ next: @escaping @Sendable () async throws -> [UInt8]?) { piece = next }

    /// Returns an iterator over the pieces.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(piece: piece) }
}
