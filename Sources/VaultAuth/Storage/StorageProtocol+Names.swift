public import VaultBiometric
public import VaultCrypto
public import VaultStorage
public import VaultUnlock

// The same methods with default values, and the names of Trifork Identity Manager.
extension StorageProtocol {
    /// The subjects of the accounts on this machine, oldest first.
    public var availableUserIDs: [String] {
        get async throws { try await all().map(\.id.subject) }
    }

    /// Returns the account if it is registered here; nil if it is not. After a sign-in, it tells whether the person
    /// chooses a new password, or opens the account that is here.
    ///
    /// - Throws: ``VaultError`` with code `storeUnreadable` or `busy` (try again), or `storeCorrupt` (restore a
    ///   backup).
    public func registeredAccount(_ id: AccountID) async throws -> Account? {
        do {
            return try await account(id)
        } catch let error as VaultError where error.code == .accountNotFound {
            return nil
        }
    }

    /// As ``checkAlias(_:of:)``, before a sign-in: the account is not known yet.
    public func checkAlias(_ alias: String) async throws { try await checkAlias(alias, of: nil) }

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

    /// As ``storeRefreshToken(_:withNewHardware:prompt:alias:replacingItems:skipsPINRule:)``, with `PINRule`. By
    /// default no item of an app is lost.
    @discardableResult
    public func storeRefreshToken(
        _ token: SignInResult, withNewHardware provider: any BiometricProvider, prompt: any BiometricPrompt,
        alias: String? = nil, replacingItems: Bool = false
    ) async throws -> Session {
        try await storeRefreshToken(
            token, withNewHardware: provider, prompt: prompt, alias: alias, replacingItems: replacingItems,
            skipsPINRule: false)
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
