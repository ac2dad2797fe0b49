internal import VaultCrypto

/// A mark that changes with each write of an item. It says nothing about the content: the same content sealed again
/// gets another mark.
package struct ItemRevision: Hashable, Sendable {
    package let bytes: [UInt8]

    package init(bytes: [UInt8]) { self.bytes = bytes }

    /// - Parameter sealed: the item's sealed bytes, or its head. Both hold a nonce, so they differ after each write.
    package init(of sealed: [UInt8]) { bytes = Checksum.of([Array("item revision".utf8), sealed]) }
}

/// An app's own item, as it is stored now.
package struct StoredItem: Sendable {
    package let revision: ItemRevision
    /// The content. Each piece is opened on request. The content can be read only once.
    package let content: ItemContent

    package init(revision: ItemRevision, content: ItemContent) {
        self.revision = revision
        self.content = content
    }
}

/// Pieces that are made on request.
///
/// An `AsyncThrowingStream` would not do: it ends without an error when the task is cancelled. A part of an item would
/// then look like the whole item.
package struct ItemContent: AsyncSequence, Sendable {
    package struct AsyncIterator: AsyncIteratorProtocol {
        let piece: @Sendable () async throws -> [UInt8]?

        package mutating func next() async throws -> [UInt8]? {
            guard !Task.isCancelled else { throw VaultError(.cancelled, "Cancelled.") }
            return try await piece()
        }
    }

    private let piece: @Sendable () async throws -> [UInt8]?

    /// - Parameter next: returns the next piece, or nil after the last one.
    package init(_ next: @escaping @Sendable () async throws -> [UInt8]?) { piece = next }

    package func makeAsyncIterator() -> AsyncIterator { AsyncIterator(piece: piece) }
}
