internal import Foundation
internal import VaultBase
package import VaultCrypto
package import VaultStorage

extension Accounts {
    /// Checks the beginning of a backup, before a person has to type its passphrase.
    ///
    /// - Throws: ``VaultError`` with code `backupInvalid` for another kind of file, or `configurationInvalid` if the
    ///   file cannot be read.
    package func checkBackup(at path: String) throws {
        _ = try BackupFile(path: path)
    }

    /// Opens a backup and reads it to its end. Changes nothing.
    ///
    /// - Throws: ``VaultError`` with code `wrongSecret` (ask for the passphrase again), `backupInvalid` (use another
    ///   copy), `configurationInvalid` if the file cannot be read, `passwordUnusable`, or `outOfMemory` (close other
    ///   programs).
    package func openBackup(at path: String, passphrase: SharedSecret) async throws -> Backup {
        try await Backup(path: path, passphrase: passphrase.bytes)
    }

    /// Makes an account from a backup, with all its items, under a new password. The account has no refresh token yet.
    /// When the same person registers, the account gets one and keeps the items.
    ///
    /// - Parameters:
    ///   - id: an account of the backup that is not registered here.
    ///   - newPassword: UTF-8.
    ///   - skipsNewPasswordRule: whether the password may be easy to guess.
    /// - Throws: ``VaultError`` with code `accountExists` (import only its items), `accountNotFound` if the backup does
    ///   not have it, `forbiddenByPolicy` or `passwordUnusable` (choose another password), `keyServiceUnavailable` (try
    ///   again later), or `storeUnreadable` (free disk space). Then nothing was changed.
    package func importAccount(
        _ id: AccountID, from backup: Backup, newPassword: SharedSecret, skipsNewPasswordRule: Bool = false
    ) async throws -> BackupImport {
        let names = backup.contents.accounts.first { $0.id == id }?.names ?? []
        try requireNewPassword(newPassword.bytes, of: names, skipsNewPasswordRule: skipsNewPasswordRule)
        try await requirePolicyInSight()
        try await requireMissing(id)
        let vaultKey = try VaultKey.random()
        let contents = ItemContents(store: store, id: id, vaultKey: vaultKey)
        let (stored, items) = try await changes(of: id, from: backup, into: contents)
        let alias = try await importedAlias(stored)
        let restored = stored.account(
            alias: alias, deviceSecret: try SecretBytes.random(count: 32).withUnsafeBytes { Array($0) }, now: clock.now)
        // If it had no key service, the settings of this machine say what it has here.
        if !restored.hasKeyService { try requireChoiceOfKeyService() }
        let account = restored.hasKeyService ? restored : restored.moved(to: keyServiceURL)
        try requireAllowedServers(of: account)
        // A backup has no token. The next sign-in claims the key. The backup stays if nobody signs in.
        var making = self
        making.claimsLater = true
        let slot = try await making.typedSlot(.password, newPassword.bytes, account, vaultKey)
        do {
            // Every account has claims from the start. Registration replaces these.
            let claims = try await TokenItems(store: store, id: id, vaultKey: vaultKey).put(
                claimsJSON: Array("{}".utf8))
            let noting = try VaultKeyRecord(store: store, account: id).noting(vaultKey)
            try await withLock(on: id) { _ in
                try await requireMissing(id)
                FaultPoint.backupRead.reach()
                _ = try await apply(
                    [.putAccount(account), .putKeyslot(slot), claims, noting] + items.map(\.change)
                        + StoreChange.keeping(stored.unsealedMetadata), to: id, retiringKeysOf: nil, for: account)
            }
        } catch {
            await discard(slot, of: account, vaultKey)
            throw error
        }
        return BackupImport(
            items: items.map(\.name), keptItems: [], aliasWasTaken: alias == nil && stored.alias != nil)
    }

    /// Adds the items of a backup to an account that is registered here. Stores all of them, or none.
    ///
    /// - Parameters:
    ///   - isReplacing: whether to replace items that the account already has. Otherwise these stay.
    /// - Throws: ``VaultError`` with code `accountNotFound` if the backup does not have it, `busy` (try again), or
    ///   `storeUnreadable` (free disk space). Then nothing was changed.
    package func importItems(
        of account: Account, from backup: Backup, vaultKey: VaultKey, isReplacing: Bool
    ) async throws -> BackupImport {
        let contents = ItemContents(store: store, id: account.id, vaultKey: vaultKey)
        let (_, items) = try await changes(of: account.id, from: backup, into: contents)
        return try await withLock(on: account.id) { _ in
            let current = try await current(account)
            try await requireCurrent(vaultKey, of: current, as: account)
            let present = Set(try await itemsOfApps(of: account.id))
            let wanted = items.filter { isReplacing || !present.contains($0.name) }
            FaultPoint.backupRead.reach()
            if !wanted.isEmpty {
                try await store.apply(wanted.map(\.change), to: account.id, sealedUnder: vaultKey)
            }
            return BackupImport(
                items: wanted.map(\.name), keptItems: items.map(\.name).filter { !wanted.map(\.name).contains($0) },
                aliasWasTaken: false)
        }
    }

    private func requireMissing(_ id: AccountID) async throws {
        guard try await store.account(id) == nil else {
            throw VaultError(
                .accountExists,
                "The account \(id) is already registered here. Log in to it, then import only its items.",
                accounts: [id])
        }
    }

    /// Returns the alias of the backup, unless another account here has that name.
    private func importedAlias(_ stored: BackupAccount) async throws -> String? {
        do {
            return try await freeAlias(stored.alias, for: stored.id)
        } catch let error as VaultError where [.aliasTaken, .configurationInvalid].contains(error.code) {
            return nil
        }
    }

    /// Seals the items of one account again, under the vault key that the account has here. Stores nothing yet.
    private func changes(
        of id: AccountID, from backup: Backup, into contents: ItemContents
    ) async throws -> (account: BackupAccount, items: [(name: ItemName, change: StoreChange)]) {
        let reader = try backup.reader()
        var account: BackupAccount?
        var isWanted = false
        var items: [(name: ItemName, change: StoreChange)] = []
        var chunks: SealedChunks?
        while let record = try await reader.next() {
            switch record {
            case .account(let json):
                let found = try BackupAccount(json: json)
                isWanted = found.id == id
                if isWanted { account = found }
            case .item(let name) where isWanted:
                let pieces = ItemContent {
                    guard case .piece(let piece) = try await reader.next() else { return nil }
                    return piece
                }
                let change = try await contents.sealed(pieces, as: name, sharing: chunks)
                if case .putChunks(_, _, let stored) = change { chunks = stored }
                items.append((name, change))
            default: break
            }
        }
        guard let account else {
            throw VaultError(.accountNotFound, "The backup does not have the account \(id).")
        }
        return (account, items)
    }
}
