public import VaultCrypto
public import VaultStorage

extension Storage {
    /// Writes accounts and their items into a new file, sealed under a passphrase: for a new machine, or after a loss.
    ///
    /// The file holds who the accounts belong to, how they sign in, and the app's own items. It holds no tokens: a refresh
    /// token that is used in two places ends the login in both. It holds no ways in: these are bound to their machine.
    /// A thief who has the file can try passphrases without limit: ask for a long one.
    ///
    /// - Parameters:
    ///   - accounts: each with what opens it.
    ///   - items: the items of these names; nil for all.
    ///   - path: where the file is to be. A file that is there already is never overwritten.
    ///   - passphrase: UTF-8. Judge it with `NewPasswordRule` first.
    /// - Returns: what is in the file. It is complete and durable.
    /// - Throws: ``VaultError``: `accountNotFound`, what opening with an ``UnlockMethod`` throws, `itemNotFound` when no account
    ///   has one of the items, `passwordUnusable`, `forbiddenByPolicy` when the way in `offline` is forbidden,
    ///   `configurationInvalid` for a path that cannot be used, `busy`, `storeUnreadable`, `storeCorrupt`. There is no file
    ///   then.
    @discardableResult
    public func exportBackup(
        of accounts: [AccountID: UnlockMethod], items: Set<ItemName>?, to path: String,
        passphrase: borrowing SecretBytes
    ) async throws -> BackupContents {
        do {
            let passphrase = SharedSecret(try passphrase.copy())
            try self.accounts.requireBackupsAllowed()
            var opened: [(account: Account, vaultKey: VaultKey)] = []
            for (id, method) in accounts {
                let account = try await self.accounts.account(id)
                opened.append((account, try await self.accounts.open(account, with: method)))
            }
            opened.sort { $0.account.createdAt < $1.account.createdAt }
            return try await self.accounts.exportBackup(of: opened, items: items, to: path, passphrase: passphrase)
        } catch {
            throw VaultError.converting(error)
        }
    }

    /// Opens a backup and reads it to its end, so that a damaged one is found before anything is changed.
    ///
    /// - Parameters:
    ///   - path: a file that ``exportBackup(of:items:to:passphrase:)`` made.
    ///   - passphrase: UTF-8.
    /// - Throws: ``VaultError``: `wrongSecret` for a wrong passphrase, `backupInvalid` for a file that is damaged, cut off, no
    ///   backup, or of a newer version, `configurationInvalid` when it cannot be read.
    public func openBackup(at path: String, passphrase: borrowing SecretBytes) async throws -> Backup {
        do {
            return try await accounts.openBackup(at: path, passphrase: SharedSecret(passphrase.copy()))
        } catch {
            throw VaultError.converting(error)
        }
    }

    /// Makes an account of a backup, with all its items, under a new password.
    ///
    /// The password opens the account at once, and its items with it. There is no refresh token yet: sign in as the same
    /// person and call ``storeRefreshToken(_:with:alias:)`` with the new password, which keeps the items.
    ///
    /// - Parameters:
    ///   - backup: from ``openBackup(at:passphrase:)``.
    ///   - account: an account of the backup that is not here.
    ///   - newPassword: UTF-8. Judge it with `NewPasswordRule` first.
    /// - Throws: ``VaultError``: `accountExists`, `accountNotFound` when the backup does not have it, `passwordUnusable`,
    ///   `forbiddenByPolicy`, `keyServiceUnavailable`, `storeUnreadable`, `backupInvalid`. Nothing was changed then.
    @discardableResult
    public func importBackup(
        _ backup: Backup, account: AccountID, newPassword: borrowing SecretBytes
    ) async throws -> BackupImport {
        do {
            return try await accounts.importAccount(
                account, from: backup, newPassword: SharedSecret(newPassword.copy()))
        } catch {
            throw VaultError.converting(error)
        }
    }

    /// Adds the items of a backup to an account that is here. All of them are stored, or none. Its tokens, names and ways
    /// in stay.
    ///
    /// - Parameters:
    ///   - backup: from ``openBackup(at:passphrase:)``.
    ///   - account: an account that is here and in the backup.
    ///   - method: opens the account.
    ///   - replacingItems: whether items that the account has already are replaced. Otherwise they stay.
    /// - Throws: ``VaultError``: `accountNotFound`, what opening with an ``UnlockMethod`` throws, `busy`, `storeUnreadable`,
    ///   `backupInvalid`. Nothing was changed then.
    @discardableResult
    public func importBackup(
        _ backup: Backup, into account: AccountID, with method: UnlockMethod, replacingItems: Bool
    ) async throws -> BackupImport {
        do {
            let found = try await accounts.account(account)
            return try await accounts.importItems(
                of: found, from: backup, vaultKey: accounts.open(found, with: method), isReplacing: replacingItems)
        } catch {
            throw VaultError.converting(error)
        }
    }
}
