public import VaultCrypto

/// Seals and opens the items of one account under its vault key.
public enum ItemSealing {
    /// Seals `content` for the item `name`. It opens only under the same name, in the same account.
    public static func seal(
        _ content: [UInt8], as name: ItemName, of id: AccountID, vaultKey: borrowing SecretBytes
    ) throws -> [UInt8] {
        try content.withUnsafeBytes { try SealedEnvelope.seal($0, key: vaultKey, context: context(name, id)) }
    }

    /// Opens an item.
    ///
    /// - Throws: ``StoreError`` with code `corrupt` when the bytes were changed, or belong to another item or account.
    public static func open(
        _ sealed: [UInt8], as name: ItemName, of id: AccountID, vaultKey: borrowing SecretBytes
    ) throws -> [UInt8] {
        do {
            return try SealedEnvelope.open(sealed, key: vaultKey, context: context(name, id)).withUnsafeBytes { Array($0) }
        } catch let error as VaultCryptoError {
            throw StoreError(.corrupt, "The stored item \(name) of \(id) is damaged.", underlying: error)
        }
    }

    private static func context(_ name: ItemName, _ id: AccountID) -> SealingContext {
        SealingContext(
            purpose: "credential-vault/v1/item", issuer: id.issuer, subject: id.subject, id: name.rawValue)
    }
}
