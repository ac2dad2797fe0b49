internal import Foundation
internal import VaultBase
package import VaultCrypto
package import VaultStorage

extension Accounts {
    /// Writes accounts and their items into a new file, sealed under a passphrase.
    ///
    /// - Parameters:
    ///   - names: the names of the items; nil for all.
    ///   - path: the new file. Nothing may be there yet.
    ///   - passphrase: UTF-8.
    ///   - skipsNewPasswordRule: whether the passphrase may be easy to guess.
    /// - Returns: the contents of the backup.
    /// - Throws: ``VaultError`` with code `forbiddenByPolicy` or `passwordUnusable` (choose another passphrase),
    ///   `itemNotFound` if no account has one of the items, `configurationInvalid` (choose another path),
    ///   `storeUnreadable` (free disk space), `storeCorrupt`, or `busy` (try again). Then there is no backup.
    package func exportBackup(
        of opened: [(account: Account, vaultKey: VaultKey)], items names: Set<ItemName>?, to path: String,
        passphrase: SharedSecret, skipsNewPasswordRule: Bool = false
    ) async throws -> BackupContents {
        try policy.requireBackupsAllowed()
        try requireNewPassphrase(
            passphrase.bytes, of: opened.flatMap(\.account.names), skipsNewPasswordRule: skipsNewPasswordRule)
        var found: Set<ItemName> = []
        for (account, _) in opened { found.formUnion(try await itemsOfApps(of: account.id)) }
        if let missing = names?.subtracting(found).map(\.rawValue).min() {
            throw VaultError(.itemNotFound, "No account has an item \(missing).")
        }
        let header = try BackupHeader(cost: offlineCost)
        let writer = try await BackupWriter(
            path: path, header: header, key: header.key(under: passphrase.bytes))
        let start = BackupStart(createdAt: clock.now)
        try await writer.add(.start(Array(JSONEncoder().encode(start))))
        var accounts: [BackupContents.Account] = []
        for (account, vaultKey) in opened {
            accounts.append(try await add(account, vaultKey, items: names, to: writer))
        }
        try await writer.finish()
        return BackupContents(createdAt: start.createdAt, accounts: accounts)
    }

    /// Holds the account's lock meanwhile, so that no item changes between two others.
    private func add(
        _ account: Account, _ vaultKey: VaultKey, items names: Set<ItemName>?, to writer: BackupWriter
    ) async throws -> BackupContents.Account {
        try await withLock(on: account.id) { _ in
            let current = try await current(account)
            try await requireCurrent(vaultKey, of: current, as: account)
            let stored = try BackupAccount(current)
            try await writer.add(.account(Array(JSONEncoder().encode(stored))))
            var summary = stored.summary
            let contents = ItemContents(store: store, id: account.id, vaultKey: vaultKey)
            for name in try await itemsOfApps(of: account.id) where names?.contains(name) ?? true {
                guard let item = try await contents.item(name) else { continue }
                try await writer.add(.item(name))
                for try await piece in item.content where !piece.isEmpty { try await writer.add(.piece(piece)) }
                try await writer.add(.endOfItem)
                summary.items.append(name)
            }
            return summary
        }
    }
}
