public import Foundation
public import VaultBiometric
public import VaultCrypto
public import VaultStorage
public import VaultUnlock

/// The accounts on this machine and their unlock methods. An app calls these methods, and its tests replace them.
/// ``Storage`` implements this protocol.
///
/// A conformer must not assume that it is the only writer: other programs change the store, too. Every method that
/// throws throws ``VaultError``. Unless a method says otherwise, nothing was changed then.
public protocol StorageProtocol: Sendable {
    // MARK: Finding accounts

    /// Returns the accounts on this machine, oldest first. If an issuer is configured, only its accounts.
    func all() async throws -> [Account]
    /// Returns one account.
    func account(_ id: AccountID) async throws -> Account
    /// Returns the account with this alias, subject, e-mail address or preferred user name. A matching alias wins, then
    /// a matching subject.
    func account(userID: String) async throws -> Account
    /// Whether a refresh token is stored for the user. False if there is no such user.
    func hasRefreshToken(userID: String) async throws -> Bool
    /// The policy of the app and of the machine, as they are now. For each rule, the stricter of the two applies.
    var policy: VaultPolicy { get }
    /// Checks whether a registration could be stored: the store can be written, and the key service answers.
    func checkReady() async throws
    /// Checks whether the store can be written. Asks no server.
    func checkWritable() async throws
    /// Checks whether an account can get this alias. See ``Storage/checkAlias(_:of:)``.
    func checkAlias(_ alias: String, of account: AccountID?) async throws

    // MARK: The state of an account, without a secret and without the network

    /// Returns the unlock methods, the usable ones first. Needs no hardware.
    func keyslotSummaries(of account: AccountID) async throws -> [KeyslotSummary]
    /// Returns the names of an app's own items, sorted.
    func itemNames(of account: AccountID) async throws -> [ItemName]
    /// Whether the account has an item with this name: an app's own item, or one that the vault keeps.
    func hasItem(_ name: ItemName, of account: AccountID) async throws -> Bool
    /// Returns the time until which the account opens without the network, which may be over; nil if it does not open
    /// so.
    func endOfOpeningOffline(of account: AccountID) async throws -> Date?
    /// Returns the guesses that were not made with this store, as the last notice told them; nil if there was none.
    func guessesElsewhere(of account: AccountID) async throws -> GuessesElsewhere?
    /// Returns the names of the items and unlock methods that a new registration under a new password deletes.
    func lossesByNewPassword(of account: AccountID) async throws -> [String]
    /// Returns a name that finds the account among all accounts on this machine.
    func uniqueName(of account: AccountID) async throws -> String

    // MARK: Refresh tokens

    /// Stores a refresh token under a new password, and logs the person in, in place of an earlier person. See
    /// ``Storage/storeRefreshToken(_:withNewPassword:alias:replacingItems:skipsNewPasswordRule:)``.
    @discardableResult
    func storeRefreshToken(
        _ token: SignInResult, withNewPassword password: borrowing SecretBytes, alias: String?, replacingItems: Bool,
        skipsNewPasswordRule: Bool
    ) async throws -> Session
    /// Stores a refresh token of a new account that has no key service, and that hardware opens. Logs the person in, in
    /// place of an earlier person. See
    /// ``Storage/storeRefreshToken(_:withNewHardware:prompt:alias:replacingItems:skipsPINRule:)``.
    @discardableResult
    func storeRefreshToken(
        _ token: SignInResult, withNewHardware provider: any BiometricProvider, prompt: any BiometricPrompt,
        alias: String?, replacingItems: Bool, skipsPINRule: Bool
    ) async throws -> Session
    /// Stores a refresh token in an existing account, and logs the person in, in place of an earlier person. Its unlock
    /// methods and its items stay.
    @discardableResult
    func storeRefreshToken(_ token: SignInResult, with method: UnlockMethod, alias: String?) async throws -> Session
    /// Opens an account and returns its refresh token, without a request to the provider.
    func storedRefreshToken(of account: AccountID, with method: UnlockMethod) async throws -> SignInResult

    // MARK: Changing accounts

    /// Moves an account without a key service to the key service of the configuration, with the same secret. See
    /// ``Storage/moveToKeyService(_:with:)``.
    @discardableResult
    func moveToKeyService(_ account: AccountID, with method: UnlockMethod) async throws -> VaultKeyReplacement
    /// Gives an account a new password. See ``Storage/changePassword(userID:from:to:skipsNewPasswordRule:)``.
    func changePassword(
        userID: String, from old: borrowing SecretBytes, to new: borrowing SecretBytes, skipsNewPasswordRule: Bool
    ) async throws
    /// Gives the account a PIN. Replaces the old one. See ``Storage/setPIN(_:of:with:skipsPINRule:)``.
    func setPIN(
        _ pin: borrowing SecretBytes, of account: AccountID, with method: UnlockMethod, skipsPINRule: Bool
    ) async throws
    /// Whether the account has a PIN. Needs no network.
    func hasPIN(_ account: AccountID) async throws -> Bool
    /// Removes the account's PIN, and ends its key at the key service.
    func removePIN(_ account: AccountID) async throws
    /// Adds hardware that opens the account, in addition to the password. Refuses hardware without a limit for wrong
    /// PINs, unless the app allows it.
    func enableBiometricAccess(
        userID: String, password: borrowing SecretBytes, using provider: any BiometricProvider,
        prompt: any BiometricPrompt, opensOffline: Bool, label: String?, allowsUnlimitedGuesses: Bool,
        skipsPINRule: Bool
    ) async throws
    /// Removes all hardware of the account. Password and PIN stay.
    func disableBiometricAccess(userID: String) async throws
    /// Removes the unlock method with this ``KeyslotSummary/id``, and ends its key at the key service.
    func removeKeyslot(_ id: String, of account: AccountID) async throws
    /// Gives an account another alias; nil for none. See ``Storage/setAlias(_:of:)``.
    func setAlias(_ alias: String?, of account: AccountID) async throws
    /// Gives the unlock method with this ``KeyslotSummary/id`` another label; nil for none.
    func renameKeyslot(_ id: String, of account: AccountID, to label: String?) async throws
    /// Deletes an account with all its data, and ends its session.
    ///
    /// - Parameters:
    ///   - account: the account to delete.
    ///   - method: the unlock method, so that the provider can be asked to revoke its refresh token. Nil
    ///     to delete the account only here.
    /// - Returns: the reason why the provider did not revoke the token; nil if it did, or if it was not asked. The
    ///   account is deleted.
    @discardableResult
    func delete(_ account: AccountID, revokingWith method: UnlockMethod?) async throws -> VaultError?

    // MARK: Backups

    /// Writes accounts and their items into a new file, sealed under a passphrase. See
    /// ``Storage/exportBackup(of:items:to:passphrase:skipsNewPasswordRule:)``.
    @discardableResult
    func exportBackup(
        of accounts: [AccountID: UnlockMethod], items: Set<ItemName>?, to path: String,
        passphrase: borrowing SecretBytes, skipsNewPasswordRule: Bool
    ) async throws -> BackupContents
    /// Checks the beginning of a backup, before a person types its passphrase.
    func checkBackup(at path: String) async throws
    /// Opens a backup and checks all of it. Changes nothing.
    func openBackup(at path: String, passphrase: borrowing SecretBytes) async throws -> Backup
    /// Makes an account from a backup under a new password. The account must not be registered here. See
    /// ``Storage/importBackup(_:account:newPassword:skipsNewPasswordRule:)``.
    @discardableResult
    func importBackup(
        _ backup: Backup, account: AccountID, newPassword: borrowing SecretBytes, skipsNewPasswordRule: Bool
    ) async throws -> BackupImport
    /// Adds the items of a backup to an account that is registered here. Stores all of them, or none.
    @discardableResult
    func importBackup(
        _ backup: Backup, into account: AccountID, with method: UnlockMethod, replacingItems: Bool
    ) async throws -> BackupImport
}
