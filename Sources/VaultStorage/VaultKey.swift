package import VaultCrypto

/// The key that seals one account's items: 32 random bytes, on disk only inside keyslots.
///
/// It is shared by reference: a session can be locked while a refresh still needs the key to store new tokens. The
/// bytes are wiped when the last reference goes. If the agent holds the account open, the bytes are only in the agent.
/// This process then asks the agent for each use.
public final class VaultKey: Sendable {
    private enum Place: Sendable {
        case here(SharedSecret)
        case elsewhere(any VaultKeyHolder)
    }

    private let place: Place

    /// - Parameter bytes: 32 bytes.
    package init(_ bytes: consuming SecretBytes) { place = .here(SharedSecret(bytes)) }

    /// A key that stays with its holder.
    package init(heldBy holder: any VaultKeyHolder) { place = .elsewhere(holder) }

    /// A new key for a new account.
    public static func random() throws -> VaultKey {
        try VaultKey(SecretBytes.random(count: 32))
    }

    /// The bytes, to hand them to the agent; nil when another process holds them.
    package var bytes: SharedSecret? { if case .here(let bytes) = place { bytes } else { nil } }

    /// Whether both are the same key, compared in constant time.
    public func isEqual(to other: VaultKey) async throws -> Bool {
        switch (place, other.place) {
        case (.here(let mine), .here(let others)): return mine.bytes.isEqual(to: others.bytes)
        case (.elsewhere(let holder), _): return try await isOpened(by: other, account: holder.id)
        case (_, .elsewhere(let holder)): return try await isOpened(by: other, account: holder.id)
        }
    }

    /// Whether another key opens what this one seals.
    private func isOpened(by other: VaultKey, account id: AccountID) async throws -> Bool {
        let name = ItemName(rawValue: "comparison")
        do {
            return try await other.open(seal([1], as: name, of: id), as: name, of: id) == [1]
        } catch let error as StoreError where error.code == .corrupt {
            return false
        }
    }

    /// Seals `content` for the item `name`. It can be opened only under the same name and in the same account.
    ///
    /// - Throws: ``StoreError`` with code `reservedName` for an app's own name that begins with `vault/`.
    ///   ``VaultError`` with code `notLoggedIn` if the agent has locked the account: log in again.
    public func seal(_ content: [UInt8], as name: ItemName, of id: AccountID) async throws -> [UInt8] {
        try name.requireWritable()
        switch place {
        case .here(let key):
            return try content.withUnsafeBytes {
                try SealedEnvelope.seal($0, key: key.bytes, context: Self.context(name, id))
            }
        case .elsewhere(let holder): return try await holder.seal(content, as: name, of: id)
        }
    }

    /// Opens an item.
    ///
    /// - Throws: ``StoreError`` with code `corrupt` if the bytes were changed, or belong to another item or account.
    ///   ``VaultError`` with code `notLoggedIn` if the agent has locked the account: log in again.
    public func open(_ sealed: [UInt8], as name: ItemName, of id: AccountID) async throws -> [UInt8] {
        switch place {
        case .here(let key):
            do {
                return try SealedEnvelope.open(sealed, key: key.bytes, context: Self.context(name, id))
                    .withUnsafeBytes { Array($0) }
            } catch let error as VaultCryptoError where error.code != .outOfMemory {
                throw StoreError(.corrupt, "The stored item \(name) of \(id) is damaged.", underlying: error)
            }
        case .elsewhere(let holder): return try await holder.open(sealed, as: name, of: id)
        }
    }

    /// Makes a sealer for an item that is too large for one piece. It seals one chunk at a time.
    ///
    /// - Throws: ``StoreError`` with code `reservedName`, as ``seal(_:as:of:)``.
    ///
    /// - Returns: the sealer, and the head to store with the chunks.
    package func sealer(of name: ItemName, of id: AccountID) async throws -> (sealer: StreamSealer, head: [UInt8]) {
        try name.requireWritable()
        let nameKey = try await streamKey(of: name, of: id)
        let key = SharedSecret(try SecretBytes.random(count: 32))
        let sealer = try StreamSealer(streamKey: key.bytes, context: Self.context(name, id))
        let head = try StreamHead(sealer.head, key: key.bytes, under: nameKey.bytes, name, id)
        return (sealer, head.bytes)
    }

    /// Makes an opener for the chunks that ``sealer(of:of:)`` sealed.
    package func opener(of name: ItemName, of id: AccountID, head: [UInt8]) async throws -> StreamOpener {
        let (nameKey, context) = (try await streamKey(of: name, of: id), Self.context(name, id))
        // Older items have no key of their own.
        guard let parts = StreamHead(head) else {
            return try StreamOpener(head: head, streamKey: nameKey.bytes, context: context)
        }
        do {
            return try StreamOpener(
                head: parts.stream, streamKey: parts.key(under: nameKey.bytes, name, id), context: context)
        } catch let error as VaultCryptoError where error.code != .outOfMemory {
            throw StoreError(.corrupt, "The stored item \(name) of \(id) is damaged.", underlying: error)
        }
    }

    /// The key of one item's name. It opens the heads of the item's streams, and nothing else.
    package func streamKey(of name: ItemName, of id: AccountID) async throws -> SharedSecret {
        switch place {
        case .here(let key): SharedSecret(try SealedStream.streamKey(key.bytes, context: Self.context(name, id)))
        case .elsewhere(let holder): try await holder.streamKey(of: name)
        }
    }

    /// Opens a stored item, and seals its content under another key. Of an item in chunks, the content is the key of
    /// the stream, so the chunks stay as they are.
    ///
    /// - Returns: nil if the item does not open.
    /// - Throws: ``VaultError`` with code `configurationInvalid` when another process holds a key.
    package func resealed(
        _ sealed: [UInt8], as name: ItemName, of id: AccountID, under other: VaultKey
    ) throws -> [UInt8]? {
        guard case .here(let old) = place, case .here(let new) = other.place else { throw Self.isKeptByAgent }
        let context = Self.context(name, id)
        do {
            guard let head = StreamHead(sealed) else {
                let content = try SealedEnvelope.open(sealed, key: old.bytes, context: context)
                return try content.withUnsafeBytes {
                    try SealedEnvelope.seal($0, key: new.bytes, context: context)
                }
            }
            let key = try head.key(under: SealedStream.streamKey(old.bytes, context: context), name, id)
            let nameKey = try SealedStream.streamKey(new.bytes, context: context)
            return try StreamHead(head.stream, key: key, under: nameKey, name, id).bytes
        } catch let error as VaultCryptoError where error.code != .outOfMemory {
            return nil
        }
    }

    /// The public id of the key, 16 bytes: nobody can find the key with it. Nil when another process holds the key.
    func publicID() throws -> [UInt8]? {
        guard case .here(let key) = place else { return nil }
        return try KeyDerivation.hkdf(key.bytes, info: "credential-vault/v1/vault-key-id", count: 16)
            .withUnsafeBytes { Array($0) }
    }

    package static var isKeptByAgent: VaultError {
        VaultError(
            .configurationInvalid,
            "The agent keeps the vault key of this session. Log in without the agent to add this unlock method.")
    }

    private static func context(_ name: ItemName, _ id: AccountID) -> SealingContext {
        SealingContext(
            purpose: "credential-vault/v1/item", issuer: id.issuer, subject: id.subject, id: name.rawValue)
    }
}

/// Uses the vault key of an open account in another process.
///
/// A conformer must not assume that the account is still open. It never hands out the key.
package protocol VaultKeyHolder: Sendable {
    var id: AccountID { get }
    func seal(_ content: [UInt8], as name: ItemName, of id: AccountID) async throws -> [UInt8]
    func open(_ sealed: [UInt8], as name: ItemName, of id: AccountID) async throws -> [UInt8]
    func streamKey(of name: ItemName) async throws -> SharedSecret
}
