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
    /// Returns the account with this subject, alias, e-mail address or preferred user name.
    func account(userID: String) async throws -> Account
    /// Whether a refresh token is stored for the user. False if there is no such user.
    func hasRefreshToken(userID: String) async throws -> Bool
    /// The policy of the app and of the machine, as they are now. For each rule, the stricter of the two applies.
    var policy: VaultPolicy { get }
    /// Checks whether a registration could be stored: the store can be written, and the key service answers.
    func checkReady() async throws
    /// Returns the unlock methods, the usable ones first. Needs no network and no hardware.
    func keyslotSummaries(of account: AccountID) async throws -> [KeyslotSummary]

    // MARK: Refresh tokens

    /// Stores a refresh token under a new password and opens the account. See
    /// ``Storage/storeRefreshToken(_:withNewPassword:alias:replacingItems:skipsNewPasswordRule:)``.
    @discardableResult
    func storeRefreshToken(
        _ token: SignInResult, withNewPassword password: borrowing SecretBytes, alias: String?, replacingItems: Bool,
        skipsNewPasswordRule: Bool
    ) async throws -> Session
    /// Stores a refresh token in an existing account and opens it. Its unlock methods and its items stay.
    @discardableResult
    func storeRefreshToken(_ token: SignInResult, with method: UnlockMethod, alias: String?) async throws -> Session
    /// Opens an account and returns its refresh token, without a request to the provider.
    func storedRefreshToken(of account: AccountID, with method: UnlockMethod) async throws -> SignInResult

    // MARK: Changing accounts

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

// The same methods with default values, and the names of Trifork Identity Manager.
extension StorageProtocol {
    /// The subjects of the accounts on this machine, oldest first.
    public var availableUserIDs: [String] {
        get async throws { try await all().map(\.id.subject) }
    }

    /// As ``storeRefreshToken(_:withNewPassword:alias:replacingItems:skipsNewPasswordRule:)``, with `NewPasswordRule`.
    /// By default no item of an app is lost.
    @discardableResult
    public func storeRefreshToken(
        _ token: SignInResult, withNewPassword password: borrowing SecretBytes, alias: String? = nil,
        replacingItems: Bool = false
    ) async throws -> Session {
        try await storeRefreshToken(
            token, withNewPassword: password, alias: alias, replacingItems: replacingItems, skipsNewPasswordRule: false)
    }

    /// As ``storeRefreshToken(_:withNewPassword:alias:replacingItems:skipsNewPasswordRule:)``. No item of an app is
    /// lost.
    @discardableResult
    public func storeRefreshToken(
        _ token: SignInResult, withNewPassword password: borrowing SecretBytes, alias: String? = nil,
        skipsNewPasswordRule: Bool
    ) async throws -> Session {
        try await storeRefreshToken(
            token, withNewPassword: password, alias: alias, replacingItems: false,
            skipsNewPasswordRule: skipsNewPasswordRule)
    }

    /// As ``storeRefreshToken(_:with:alias:)``, with the password.
    @discardableResult
    public func storeRefreshToken(
        _ token: SignInResult, withExistingPassword password: borrowing SecretBytes, alias: String? = nil
    ) async throws -> Session {
        try await storeRefreshToken(token, with: .password(password), alias: alias)
    }

    /// As ``storeRefreshToken(_:with:alias:)``, without a new alias.
    @discardableResult
    public func storeRefreshToken(_ token: SignInResult, with method: UnlockMethod) async throws -> Session {
        try await storeRefreshToken(token, with: method, alias: nil)
    }

    /// As ``changePassword(userID:from:to:skipsNewPasswordRule:)``, with `NewPasswordRule`.
    public func changePassword(
        userID: String, from old: borrowing SecretBytes, to new: borrowing SecretBytes
    ) async throws {
        try await changePassword(userID: userID, from: old, to: new, skipsNewPasswordRule: false)
    }

    /// As ``setPIN(_:of:with:skipsPINRule:)``, with `PINRule`.
    public func setPIN(_ pin: borrowing SecretBytes, of account: AccountID, with method: UnlockMethod) async throws {
        try await setPIN(pin, of: account, with: method, skipsPINRule: false)
    }

    /// As ``setPIN(_:of:with:skipsPINRule:)``, for an account by one of its names, with the password.
    public func setPIN(
        _ pin: borrowing SecretBytes, userID: String, password: borrowing SecretBytes, skipsPINRule: Bool = false
    ) async throws {
        let method = try UnlockMethod.password(password)
        try await setPIN(pin, of: account(userID: userID).id, with: method, skipsPINRule: skipsPINRule)
    }

    /// As ``exportBackup(of:items:to:passphrase:skipsNewPasswordRule:)``, with `NewPasswordRule`.
    @discardableResult
    public func exportBackup(
        of accounts: [AccountID: UnlockMethod], items: Set<ItemName>?, to path: String,
        passphrase: borrowing SecretBytes
    ) async throws -> BackupContents {
        try await exportBackup(
            of: accounts, items: items, to: path, passphrase: passphrase, skipsNewPasswordRule: false)
    }

    /// As ``importBackup(_:account:newPassword:skipsNewPasswordRule:)``, with `NewPasswordRule`.
    @discardableResult
    public func importBackup(
        _ backup: Backup, account: AccountID, newPassword: borrowing SecretBytes
    ) async throws -> BackupImport {
        try await importBackup(backup, account: account, newPassword: newPassword, skipsNewPasswordRule: false)
    }

    /// As ``storedRefreshToken(of:with:)``, with the password.
    public func storedRefreshToken(
        userID: String, password: borrowing SecretBytes
    ) async throws -> SignInResult {
        let method = try UnlockMethod.password(password)
        return try await storedRefreshToken(of: account(userID: userID).id, with: method)
    }

    /// As ``storedRefreshToken(of:with:)``, with hardware.
    public func storedRefreshTokenViaBiometrics(
        userID: String, using provider: any BiometricProvider, prompt: any BiometricPrompt
    ) async throws -> SignInResult {
        try await storedRefreshToken(of: account(userID: userID).id, with: .hardware(provider, prompt))
    }

    /// Adds a hardware key that opens the account with the key service, under its own label. A new PIN must be hard to
    /// guess.
    public func enableBiometricAccess(
        userID: String, password: borrowing SecretBytes, using provider: any BiometricProvider,
        prompt: any BiometricPrompt, opensOffline: Bool = false, label: String? = nil,
        allowsUnlimitedGuesses: Bool = false
    ) async throws {
        try await enableBiometricAccess(
            userID: userID, password: password, using: provider, prompt: prompt, opensOffline: opensOffline,
            label: label, allowsUnlimitedGuesses: allowsUnlimitedGuesses, skipsPINRule: false)
    }

    /// Whether the account has hardware as an unlock method. Needs no network and no hardware. `availability(of:)`
    /// tells whether the hardware is there.
    public func hasBiometricAccess(userID: String) async throws -> Bool {
        try await account(userID: userID).keyslots.contains { $0.kind.isHardware }
    }

    /// Deletes an account only on this machine. Nothing is revoked at the provider.
    public func clear(userID: String) async throws {
        try await delete(account(userID: userID).id, revokingWith: nil)
    }
}
