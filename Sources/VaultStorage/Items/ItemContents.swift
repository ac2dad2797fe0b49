internal import Foundation
internal import VaultCrypto

/// The items of an app's own in one account, sealed and opened without holding a large one in memory.
package struct ItemContents: Sendable {
    /// The size of the largest item, in bytes.
    package static let maximumSize = 16 << 20

    package let store: any SecureStore
    package let id: AccountID
    package let vaultKey: VaultKey
    let requireOpen: @Sendable () throws -> Void

    /// - Parameter requireOpen: called before each piece that is read: who locks a session wants nothing more to be read.
    package init(
        store: any SecureStore, id: AccountID, vaultKey: VaultKey,
        requireOpen: @escaping @Sendable () throws -> Void = {}
    ) {
        self.store = store
        self.id = id
        self.vaultKey = vaultKey
        self.requireOpen = requireOpen
    }

    // MARK: - Writing

    /// Seals content as an item. Nothing is stored yet.
    ///
    /// - Parameter others: chunks of another item to share a file with: a process can have so many files open.
    /// - Returns: the change that stores it.
    /// - Throws: ``VaultError`` with code `itemTooLarge`; ``StoreError``; what `content` throws.
    package func sealed<Content: AsyncSequence & Sendable>(
        _ content: Content, as name: ItemName, sharing others: SealedChunks? = nil
    ) async throws -> StoreChange where Content.Element == [UInt8] {
        var buffer: [UInt8] = []
        var size = 0
        var stream: (sealer: StreamSealer, chunks: SealedChunks)?
        for try await piece in content {
            size += piece.count
            guard size <= Self.maximumSize else { throw Self.tooLarge(name) }
            var rest = piece[...]
            while !rest.isEmpty {
                // Only when more follows: the last chunk is sealed in another way.
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
        // Many a sequence just ends when its task is cancelled: what came until then is not the whole.
        try Task.checkCancellation()
        guard let (sealer, chunks) = stream else {
            return .putItem(name, try await vaultKey.seal(buffer, as: name, of: id))
        }
        try chunks.append(sealer.seal(buffer, isLast: true))
        return .putChunks(name, head: sealer.head, chunks)
    }

    private func begin(
        _ name: ItemName, _ others: SealedChunks?
    ) async throws -> (sealer: StreamSealer, chunks: SealedChunks) {
        let chunks = try others.map { SealedChunks(after: $0) } ?? SealedChunks(folder: store.folderForChunks)
        return (try await vaultKey.sealer(of: name, of: id), chunks)
    }

    private static func tooLarge(_ name: ItemName) -> VaultError {
        VaultError(
            .itemTooLarge,
            "The item \(name) would be larger than \(maximumSize >> 20) MiB. Nothing was changed. Store it in parts, under several names."
        )
    }

    // MARK: - Reading

    /// An item as it is stored now; nil when there is none.
    ///
    /// Its content throws ``VaultError``: `busy` when another program changes the item before all of it was read,
    /// `storeCorrupt` when bytes were changed.
    package func item(_ name: ItemName) async throws -> StoredItem? {
        guard let sealed = try await store.item(name, of: id) else { return nil }
        let pieces: ItemPieces
        if SealedStream.isHead(sealed) {
            let opener = try await vaultKey.opener(of: name, of: id, head: sealed)
            pieces = ItemPieces(contents: self, name: name, head: sealed, opener: opener)
        } else {
            pieces = ItemPieces(contents: self, name: name, piece: try await vaultKey.open(sealed, as: name, of: id))
        }
        return StoredItem(revision: ItemRevision(of: sealed), content: ItemContent { try await pieces.next() })
    }

    /// What tells the stored item from another state of it; nil when there is none.
    package func revision(_ name: ItemName) async throws -> ItemRevision? {
        try await store.item(name, of: id).map { ItemRevision(of: $0) }
    }
}

/// The content of a stored item, from its first piece to its last.
private actor ItemPieces {
    private let contents: ItemContents
    private let name: ItemName
    private let stream: (head: [UInt8], opener: StreamOpener)?
    /// Of an item that is not in chunks.
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
            throw VaultError.converting(error)
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
