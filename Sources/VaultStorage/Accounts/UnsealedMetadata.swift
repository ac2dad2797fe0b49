/// The rules for the unsealed metadata of an account.
package enum UnsealedMetadata {
    /// The greatest size of all keys and values together, in bytes of UTF-8. Each list of accounts reads them.
    package static let maximumSize = 4096

    /// Sets a value, or removes it.
    ///
    /// - Parameter value: the new value; nil to remove the key.
    /// - Throws: ``VaultError`` with code `configurationInvalid` (choose another key) or `itemTooLarge` (store it as an
    ///   item). Then nothing was changed.
    package static func set(_ value: String?, for key: String, in metadata: inout [String: String]) throws {
        let isPlain = key.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
        guard isPlain, (1...255).contains(key.utf8.count) else {
            throw VaultError(
                .configurationInvalid,
                "A key of metadata must have 1 to 255 bytes and no control characters. Choose another key.")
        }
        var changed = metadata
        changed[key] = value
        let size = changed.reduce(0) { $0 + $1.key.utf8.count + $1.value.utf8.count }
        guard value == nil || size <= maximumSize else {
            throw VaultError(
                .itemTooLarge,
                "The metadata of the account would be larger than \(maximumSize) bytes. Store it as an item.")
        }
        metadata = changed
    }
}

extension StoreChange {
    /// Returns the changes that give a new account the metadata of an earlier one, or of a backup.
    ///
    /// - Parameter metadata: nil for none. It may come from outside, so the rules apply again.
    package static func keeping(_ metadata: [String: String]?) -> [StoreChange] {
        guard let metadata, !metadata.isEmpty else { return [] }
        let change = StoreChange.changeUnsealedMetadata { stored in
            for (key, value) in metadata { try UnsealedMetadata.set(value, for: key, in: &stored) }
        }
        return [change]
    }
}
