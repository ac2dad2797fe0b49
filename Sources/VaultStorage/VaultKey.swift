package import VaultCrypto

/// The key that seals one account's items: 32 random bytes, on disk only inside keyslots.
///
/// It is shared by reference, so that locking a session does not pull the key from under a refresh that has to store
/// what the provider just answered. The bytes are wiped when the last holder lets go.
public final class VaultKey: Sendable {
    let bytes: SecretBytes

    init(_ bytes: consuming SecretBytes) {
        self.bytes = bytes
    }

    /// A new key for a new account.
    public static func random() throws -> VaultKey {
        try VaultKey(SecretBytes.random(count: 32))
    }

    /// Whether both are the same key, compared in constant time.
    public func isEqual(to other: VaultKey) -> Bool {
        bytes.isEqual(to: other.bytes)
    }

    /// Seals `content` for the item `name`. It opens only under the same name, in the same account.
    ///
    /// - Throws: ``StoreError`` with code `reservedName` for a name of an app's own that begins with `vault/`.
    public func seal(_ content: [UInt8], as name: ItemName, of id: AccountID) throws -> [UInt8] {
        try name.requireWritable()
        return try content.withUnsafeBytes { try SealedEnvelope.seal($0, key: bytes, context: context(name, id)) }
    }

    /// Opens an item.
    ///
    /// - Throws: ``StoreError`` with code `corrupt` when the bytes were changed, or belong to another item or account.
    public func open(_ sealed: [UInt8], as name: ItemName, of id: AccountID) throws -> [UInt8] {
        do {
            return try SealedEnvelope.open(sealed, key: bytes, context: context(name, id)).withUnsafeBytes { Array($0) }
        } catch let error as VaultCryptoError where error.code != .outOfMemory {
            throw StoreError(.corrupt, "The stored item \(name) of \(id) is damaged.", underlying: error)
        }
    }

    /// Seals an item that is too large for one piece, a chunk at a time.
    ///
    /// - Throws: ``StoreError`` with code `reservedName`, as ``seal(_:as:of:)``.
    package func sealer(of name: ItemName, of id: AccountID) throws -> StreamSealer {
        try name.requireWritable()
        return try StreamSealer(key: bytes, context: context(name, id))
    }

    /// Opens what ``sealer(of:of:)`` sealed.
    package func opener(of name: ItemName, of id: AccountID, head: [UInt8]) throws -> StreamOpener {
        try StreamOpener(head: head, key: bytes, context: context(name, id))
    }

    private func context(_ name: ItemName, _ id: AccountID) -> SealingContext {
        SealingContext(
            purpose: "credential-vault/v1/item", issuer: id.issuer, subject: id.subject, id: name.rawValue)
    }
}
