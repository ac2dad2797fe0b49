internal import VaultCrypto

/// What tells two states of an item apart. It says nothing of the content: the same content sealed again is another one.
package struct ItemRevision: Hashable, Sendable {
    package let bytes: [UInt8]

    package init(bytes: [UInt8]) { self.bytes = bytes }

    /// - Parameter sealed: the item's sealed bytes, or its head. Both have a nonce of their own.
    package init(of sealed: [UInt8]) { bytes = Checksum.of([Array("item revision".utf8), sealed]) }
}

/// An item of an app's own, as it is stored now.
package struct StoredItem: Sendable {
    package let revision: ItemRevision
    /// The content, opened a piece at a time as somebody asks for the next one. It can be gone through once.
    package let content: ItemContent

    package init(revision: ItemRevision, content: ItemContent) {
        self.revision = revision
        self.content = content
    }
}

/// Pieces that are made one by one, on request.
///
/// It is no `AsyncThrowingStream`: that one ends without an error when the task is cancelled, and a part of an item would
/// pass for the whole.
package struct ItemContent: AsyncSequence, Sendable {
    package struct AsyncIterator: AsyncIteratorProtocol {
        let piece: @Sendable () async throws -> [UInt8]?

        package mutating func next() async throws -> [UInt8]? {
            guard !Task.isCancelled else { throw VaultError(.cancelled, "Cancelled.") }
            return try await piece()
        }
    }

    private let piece: @Sendable () async throws -> [UInt8]?

    /// - Parameter next: gives the next piece, or nil after the last one.
    package init(_ next: @escaping @Sendable () async throws -> [UInt8]?) { piece = next }

    package func makeAsyncIterator() -> AsyncIterator { AsyncIterator(piece: piece) }
}
