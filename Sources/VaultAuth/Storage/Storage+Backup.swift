public import VaultCrypto
public import VaultStorage
public import VaultUnlock

extension Storage {
    /// Writes accounts and their items into a new file, sealed under a passphrase. Use it for a new machine, or after a
    /// loss.
    ///
    /// The file holds the owners of the accounts, their ways to sign in, and the app's own items. It holds no tokens: a
    /// refresh token that is used in two places ends the login in both. It holds no unlock methods: these are bound to
    /// their machine. A thief who has the file can try passphrases without limit, so ask for a long one.
    ///
    /// - Parameters:
    ///   - accounts: the accounts, each with its unlock method.
    ///   - items: the names of the items; nil for all.
    ///   - path: the path of the new file. An existing file is never overwritten.
    ///   - passphrase: UTF-8.
    ///   - skipsNewPasswordRule: whether to accept a passphrase that `NewPasswordRule` finds easy to guess.
    /// - Returns: the contents of the file. It is complete and durable.
    /// - Throws: ``VaultError`` with code `accountNotFound` (register), the codes of opening with an ``UnlockMethod``,
    ///   `itemNotFound` if no account has one of the items, `passwordUnusable` (choose another passphrase),
    ///   `forbiddenByPolicy` if the policy forbids the unlock method `offline`, `configurationInvalid` (choose another
    ///   path), `busy` (try again), `storeUnreadable` (free disk space), or `storeCorrupt`. Then there is no file.
    @discardableResult
    public func exportBackup(
        of accounts: [AccountID: UnlockMethod], items: Set<ItemName>?, to path: String,
        passphrase: borrowing SecretBytes, skipsNewPasswordRule: Bool
    ) async throws -> BackupContents {
        do {
            let passphrase = SharedSecret(try passphrase.copy())
            try policy.requireBackupsAllowed()
            var opened: [(account: Account, vaultKey: VaultKey)] = []
            for (id, method) in accounts {
                let account = try await self.accounts.account(id)
                opened.append((account, try await self.accounts.open(account, with: method)))
            }
            opened.sort { $0.account.createdAt < $1.account.createdAt }
            return try await self.accounts.exportBackup(
                of: opened, items: items, to: path, passphrase: passphrase, skipsNewPasswordRule: skipsNewPasswordRule)
        } catch {
            throw VaultError.converting(error)
        }
    }

    /// Checks the beginning of a backup. So another file is refused before a person types a passphrase.
    ///
    /// - Parameter path: a file that ``exportBackup(of:items:to:passphrase:skipsNewPasswordRule:)`` made.
    /// - Throws: ``VaultError`` with code `backupInvalid` for a file that is not a backup or of a newer version (use
    ///   another file), or `configurationInvalid` if it cannot be read.
    public func checkBackup(at path: String) async throws {
        try await VaultError.converting { try accounts.checkBackup(at: path) }
    }

    /// Opens a backup and reads it to its end. So a damaged backup is found before anything changes.
    ///
    /// - Parameters:
    ///   - path: a file that ``exportBackup(of:items:to:passphrase:skipsNewPasswordRule:)`` made.
    ///   - passphrase: UTF-8.
    /// - Throws: ``VaultError`` with code `wrongSecret` for a wrong passphrase (ask again), `backupInvalid` for a file
    ///   that is damaged, incomplete, not a backup, or of a newer version (use another copy), `configurationInvalid` if
    ///   it cannot be read.
    public func openBackup(at path: String, passphrase: borrowing SecretBytes) async throws -> Backup {
        do {
            return try await accounts.openBackup(at: path, passphrase: SharedSecret(passphrase.copy()))
        } catch {
            throw VaultError.converting(error)
        }
    }

    /// Makes an account from a backup, with all its items, under a new password.
    ///
    /// The password opens the account and its items at once. The account has no refresh token yet. Sign in as the same
    /// person, then call ``storeRefreshToken(_:with:alias:)`` with the new password. That keeps the items.
    ///
    /// - Parameters:
    ///   - backup: the result of ``openBackup(at:passphrase:)``.
    ///   - account: an account of the backup that is not registered here.
    ///   - newPassword: UTF-8.
    ///   - skipsNewPasswordRule: whether to accept a password that `NewPasswordRule` finds easy to guess.
    /// - Throws: ``VaultError`` with code `accountExists` (import only its items), `accountNotFound` if the backup does
    ///   not have it, `passwordUnusable` or `forbiddenByPolicy` (choose another password), `keyServiceUnavailable` (try
    ///   again later), `storeUnreadable` (free disk space), or `backupInvalid` (use another copy). Then nothing was
    ///   changed.
    @discardableResult
    public func importBackup(
        _ backup: Backup, account: AccountID, newPassword: borrowing SecretBytes, skipsNewPasswordRule: Bool
    ) async throws -> BackupImport {
        do {
            return try await accounts.importAccount(
                account, from: backup, newPassword: SharedSecret(newPassword.copy()),
                skipsNewPasswordRule: skipsNewPasswordRule)
        } catch {
            throw VaultError.converting(error)
        }
    }

    /// Adds the items of a backup to an account that is registered here. Stores all of them, or none. Its tokens, names
    /// and unlock methods stay.
    ///
    /// - Parameters:
    ///   - backup: the result of ``openBackup(at:passphrase:)``.
    ///   - account: an account that is registered here and in the backup.
    ///   - method: the unlock method.
    ///   - replacingItems: whether to replace items that the account already has. Otherwise these stay.
    /// - Throws: ``VaultError`` with code `accountNotFound`, the codes of opening with an ``UnlockMethod``, `busy` (try
    ///   again), `storeUnreadable` (free disk space), or `backupInvalid` (use another copy). Then nothing was changed.
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
