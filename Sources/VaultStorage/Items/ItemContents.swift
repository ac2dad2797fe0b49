internal import VaultCrypto

/// An app's own items in one account. A large item is sealed and opened in pieces, and is never whole in memory.
package struct ItemContents: Sendable {
    /// The size of the largest allowed item, in bytes.
    package static let maximumSize = 16 << 20

    package let store: any SecureStore
    package let id: AccountID
    package let vaultKey: VaultKey
    let requireOpen: @Sendable () throws -> Void
    let explain: @Sendable (any Error) async -> any Error

    /// - Parameter requireOpen: called before each piece is read. It throws after the session was locked, so nothing
    ///   more is read.
    /// - Parameter explain: returns the error to throw: perhaps the vault key was replaced while the item was read.
    package init(
        store: any SecureStore, id: AccountID, vaultKey: VaultKey,
        requireOpen: @escaping @Sendable () throws -> Void = {},
        explain: @escaping @Sendable (any Error) async -> any Error = { VaultError.converting($0) }
    ) {
        self.store = store
        self.id = id
        self.vaultKey = vaultKey
        self.requireOpen = requireOpen
        self.explain = explain
    }

    // MARK: - Writing

    /// Seals content as an item. Stores nothing yet.
    ///
    /// - Parameter others: chunks of another item, to share their file. A process can have only so many open files.
    /// - Returns: the change that stores the item.
    /// - Throws: ``VaultError`` with code `itemTooLarge`; ``StoreError``; the errors of `content`.
    package func sealed<Content: AsyncSequence & Sendable>(
        _ content: Content, as name: ItemName, sharing others: SealedChunks? = nil
    ) async throws -> StoreChange where Content.Element == [UInt8] {
        var buffer: [UInt8] = []
        var size = 0
        var stream: (sealer: StreamSealer, head: [UInt8], chunks: SealedChunks)?
        for try await piece in content {
            size += piece.count
            guard size <= Self.maximumSize else { throw Self.tooLarge(name) }
            var rest = piece[...]
            while !rest.isEmpty {
                // Only if more bytes follow: the last chunk is sealed differently.
                if buffer.count == SealedStream.chunkSize {
                    let open = if let stream { stream } else { try await begin(name, others) }
                    stream = open
                    try open.chunks.append(open.sealer.seal(buffer, isLast: false))
                    buffer.removeAll(keepingCapacity: true)
                }
                let part = rest.prefix(SealedStream.chunkSize - buffer.count)
                buffer += part
                rest = rest.dropFirst(part.count)
            }
        }
        // Many sequences just end when their task is cancelled. The content is then not complete.
        try Task.checkCancellation()
        guard let (sealer, head, chunks) = stream else {
            return .putItem(name, try await vaultKey.seal(buffer, as: name, of: id))
        }
        try chunks.append(sealer.seal(buffer, isLast: true))
        return .putChunks(name, head: head, chunks)
    }

    private func begin(
        _ name: ItemName, _ others: SealedChunks?
    ) async throws -> (sealer: StreamSealer, head: [UInt8], chunks: SealedChunks) {
        let chunks = try others.map { SealedChunks(after: $0) } ?? SealedChunks(folder: store.folderForChunks)
        let (sealer, head) = try await vaultKey.sealer(of: name, of: id)
        return (sealer, head, chunks)
    }

    private static func tooLarge(_ name: ItemName) -> VaultError {
        VaultError(
            .itemTooLarge,
            "The item \(name) would be larger than \(maximumSize >> 20) MiB. Nothing was changed. Store it in parts with several names."
        )
    }

    // MARK: - Reading

    /// Returns an item as it is stored now; nil if there is none.
    ///
    /// Its content throws ``VaultError`` with code `busy` if another program changes the item while it is read: read it
    /// again. Code `storeCorrupt` means that its bytes were changed: restore a backup.
    package func item(_ name: ItemName) async throws -> StoredItem? {
        guard let sealed = try await store.item(name, of: id) else { return nil }
        let pieces: ItemPieces
        if StreamHead.isHead(sealed) {
            let opener = try await vaultKey.opener(of: name, of: id, head: sealed)
            pieces = ItemPieces(contents: self, name: name, head: sealed, opener: opener)
        } else {
            pieces = ItemPieces(contents: self, name: name, piece: try await vaultKey.open(sealed, as: name, of: id))
        }
        return StoredItem(revision: ItemRevision(of: sealed), content: ItemContent { try await pieces.next() })
    }

    /// Returns the revision of the stored item; nil if there is none.
    package func revision(_ name: ItemName) async throws -> ItemRevision? {
        try await store.item(name, of: id).map { ItemRevision(of: $0) }
    }
}

private actor ItemPieces {
    private let contents: ItemContents
    private let name: ItemName
    private let stream: (head: [UInt8], opener: StreamOpener)?
    /// The only piece of an item without chunks.
    private var piece: [UInt8]?
    private var number = 0

    init(contents: ItemContents, name: ItemName, piece: [UInt8]) {
        (self.contents, self.name, self.piece, stream) = (contents, name, piece, nil)
    }

    init(contents: ItemContents, name: ItemName, head: [UInt8], opener: StreamOpener) {
        (self.contents, self.name, piece, stream) = (contents, name, nil, (head, opener))
    }

    func next() async throws -> [UInt8]? {
        do {
            try contents.requireOpen()
            return try await nextPiece()
        } catch {
            throw await contents.explain(error)
        }
    }

    private func nextPiece() async throws -> [UInt8]? {
        guard let (head, opener) = stream else {
            defer { piece = nil }
            return piece
        }
        if opener.isComplete { return nil }
        guard let sealed = try await contents.store.chunk(number, ofItem: name, head: head, of: contents.id) else {
            guard try await contents.store.item(name, of: contents.id) == head else {
                throw VaultError(
                    .busy, "Another program changed the item \(name) while it was read. Read it again.")
            }
            throw StoreError(.corrupt, "The stored item \(name) of \(contents.id) is damaged: a part is missing.")
        }
        number += 1
        do {
            return try opener.open(sealed)
        } catch let error as VaultCryptoError where error.code != .outOfMemory {
            throw StoreError(.corrupt, "The stored item \(name) of \(contents.id) is damaged.", underlying: error)
        }
    }
}
