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
    /// The content, opened a piece at a time as somebody asks for the next one. It is asked once.
    package let content: AsyncThrowingStream<[UInt8], any Error>

    package init(revision: ItemRevision, content: AsyncThrowingStream<[UInt8], any Error>) {
        self.revision = revision
        self.content = content
    }
}
