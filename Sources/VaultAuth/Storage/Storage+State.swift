public import Foundation
public import VaultStorage
public import VaultUnlock

// The state of an account, without a secret and without the network: what an app shows, and checks before it asks the
// person for something.
extension Storage {
    /// Checks whether the store can be written. It leaves nothing behind, and asks no server.
    ///
    /// - Throws: ``VaultError`` with code `storeUnreadable` (free disk space) or `busy` (try again).
    public func checkWritable() async throws {
        try await VaultError.converting { try await accounts.store.checkWritable() }
    }

    /// Checks whether an account can get this alias, as far as that is known now. Call it before the sign-in, so that
    /// the person does not sign in for nothing.
    ///
    /// - Parameters:
    ///   - alias: the alias as the person typed it, 1 to 100 visible characters.
    ///   - account: the account that gets the alias and may have it already. Nil before a sign-in: then an account of
    ///     the configured issuer may be the person's own, so its alias is not refused.
    /// - Throws: ``VaultError`` with code `aliasTaken` or `configurationInvalid` (choose another alias),
    ///   `storeUnreadable` or `busy` (try again), or `storeCorrupt` (restore a backup).
    public func checkAlias(_ alias: String, of account: AccountID?) async throws {
        try await VaultError.converting {
            guard let account else { return try await accounts.checkAlias(alias, issuer: issuer ?? "") }
            _ = try await accounts.freeAlias(alias, for: account)
        }
    }

    /// Returns the names of an app's own items, sorted. Items stay sealed: to read one, open the account and use
    /// ``Session/items``.
    ///
    /// - Returns: also empty if the account is not registered here.
    /// - Throws: ``VaultError`` with code `storeUnreadable` or `busy` (try again), or `storeCorrupt` (restore a
    ///   backup).
    public func itemNames(of account: AccountID) async throws -> [ItemName] {
        try await VaultError.converting { try await accounts.itemsOfApps(of: account) }
    }

    /// Whether an account has an item with this name.
    ///
    /// - Parameters:
    ///   - name: the name of an app's own item, or of an item that the vault keeps: with `ItemName.refreshToken`, the
    ///     function tells whether a refresh token is stored.
    ///   - account: the account. It need not be registered here: then it has no item.
    /// - Throws: ``VaultError`` with code `storeUnreadable` or `busy` (try again), or `storeCorrupt` (restore a
    ///   backup).
    public func hasItem(_ name: ItemName, of account: AccountID) async throws -> Bool {
        try await VaultError.converting { try await accounts.store.itemNames(of: account).contains(name) }
    }

    /// Returns the time until which an account opens without the network: see `UnlockMethod.offline`. Each login with
    /// the network moves it.
    ///
    /// - Returns: a time by this machine's clock, which may be over. Nil if the account has no unlock method without
    ///   the network, or if the policy forbids it.
    /// - Throws: ``VaultError`` with code `accountNotFound` (register), `storeUnreadable` or `busy` (try again), or
    ///   `storeCorrupt` (restore a backup).
    public func endOfOpeningOffline(of account: AccountID) async throws -> Date? {
        try await VaultError.converting { try await accounts.endOfOpeningOffline(accounts.account(account)) }
    }

    /// Returns the guesses at the account's secrets that were not made with this store, as the last notice told them.
    ///
    /// - Returns: nil if there was no such notice, or if the account is not registered here.
    /// - Throws: ``VaultError`` with code `storeUnreadable` or `busy` (try again), or `storeCorrupt` (restore a
    ///   backup).
    public func guessesElsewhere(of account: AccountID) async throws -> GuessesElsewhere? {
        try await VaultError.converting { try await accounts.guessesElsewhere(of: account) }
    }

    /// Returns what a new registration of the account under a new password deletes. Show it to the person, and ask,
    /// before you call ``storeRefreshToken(_:withNewPassword:alias:replacingItems:skipsNewPasswordRule:)`` with
    /// `replacingItems`.
    ///
    /// - Returns: the names of an app's own items, then the labels or kinds of the unlock methods other than the
    ///   password. Empty if nothing is lost, also if the account is not registered here.
    /// - Throws: ``VaultError`` with code `storeUnreadable` or `busy` (try again), or `storeCorrupt` (restore a
    ///   backup).
    public func lossesByNewPassword(of account: AccountID) async throws -> [String] {
        try await VaultError.converting { try await accounts.losses(with: accounts.store.account(account)) }
    }

    /// Returns a name that finds the account among all accounts on this machine, of every issuer. Use it for a name
    /// that the person types elsewhere.
    ///
    /// - Returns: the account's usual name. If that names another account, too: the subject, the e-mail address or the user
    ///   name, whichever names only this account. If none does, the subject.
    /// - Throws: ``VaultError`` with code `accountNotFound` (register), `storeUnreadable` or `busy` (try again), or
    ///   `storeCorrupt` (restore a backup).
    public func uniqueName(of account: AccountID) async throws -> String {
        try await VaultError.converting {
            for name in try await accounts.account(account).allNames {
                do {
                    if try await accounts.find(name).id == account { return name }
                } catch let error as VaultError where error.code == .accountAmbiguous {
                    // Another name may tell them apart.
                }
            }
            return account.subject
        }
    }
}
