public import VaultBiometric
public import VaultCrypto
public import VaultStorage

/// The accounts on this machine and the ways into them: what an app calls, and what its tests replace. ``Storage`` is the
/// one of this library.
///
/// A conformer must not assume that nobody else changes what is stored: other programs do. Everything that throws throws
/// ``VaultError``; unless a method says otherwise nothing was changed then.
public protocol StorageProtocol: Sendable {
    // MARK: Which accounts there are

    /// The accounts here (of the configured issuer, when one is), oldest first.
    func all() async throws -> [Account]
    /// One account.
    func account(_ id: AccountID) async throws -> Account
    /// The one account that a person means by a subject, alias, e-mail address or preferred user name.
    func account(userID: String) async throws -> Account
    /// Whether a refresh token is stored for the user. False when there is no such user.
    func hasRefreshToken(userID: String) async throws -> Bool
    /// The policy of the app and of the machine. For each rule, the stricter of the two applies.
    var policy: VaultPolicy { get }
    /// Finds out whether a registration could be stored: the store can be written, and the key service answers.
    func checkReady() async throws
    /// The ways into an account, the usable ones first. Needs no network and no hardware.
    func waysIn(of account: AccountID) async throws -> [WayIn]

    // MARK: Refresh tokens

    /// Stores a refresh token under a new password and opens the account. See
    /// ``Storage/storeRefreshToken(_:withNewPassword:alias:replacingItems:)``.
    @discardableResult
    func storeRefreshToken(
        _ token: RefreshToken, withNewPassword password: borrowing SecretBytes, alias: String?, replacingItems: Bool
    ) async throws -> Session
    /// Stores a refresh token in an account that exists and opens it. Its ways in and its items stay.
    @discardableResult
    func storeRefreshToken(_ token: RefreshToken, with method: UnlockMethod, alias: String?) async throws -> Session
    /// Opens an account and returns its refresh token, without asking the provider for anything.
    func storedRefreshToken(of account: AccountID, with method: UnlockMethod) async throws -> RefreshToken

    // MARK: Changing accounts

    /// Gives an account a new password.
    func changePassword(
        userID: String, from old: borrowing SecretBytes, to new: borrowing SecretBytes
    ) async throws
    /// Gives the account a PIN, in place of one that it has. See ``Storage/setPIN(_:of:with:)``.
    func setPIN(_ pin: borrowing SecretBytes, of account: AccountID, with method: UnlockMethod) async throws
    /// Whether the account has a PIN. Needs no network.
    func hasPIN(_ account: AccountID) async throws -> Bool
    /// Takes the account's PIN away, and ends its key at the key service.
    func removePIN(_ account: AccountID) async throws
    /// Has hardware open the account from now on, beside the password.
    func enableBiometricAccess(
        userID: String, password: borrowing SecretBytes, using provider: any BiometricProvider,
        prompt: any BiometricPrompt, opensOffline: Bool, label: String?
    ) async throws
    /// Takes the account's hardware away, all of it. Password and PIN stay.
    func disableBiometricAccess(userID: String) async throws
    /// Removes a way in, by its ``WayIn/id``, and ends its key at the key service.
    func removeWayIn(_ id: String, of account: AccountID) async throws
    /// Gives a way in another label, by its ``WayIn/id``; nil for none.
    func renameWayIn(_ id: String, of account: AccountID, to label: String?) async throws
    /// Deletes an account with all that is stored of it, and ends its session.
    ///
    /// - Parameters:
    ///   - account: the account to delete.
    ///   - method: opens the account first, so that the provider can be asked to revoke its refresh token; nil to
    ///     delete it here alone.
    /// - Returns: why the provider did not revoke the token; nil when it did, or was not asked. The account is gone.
    @discardableResult
    func delete(_ account: AccountID, revokingWith method: UnlockMethod?) async throws -> VaultError?

    // MARK: Backups

    /// Writes accounts and their items into a new file, sealed under a passphrase. See
    /// ``Storage/exportBackup(of:items:to:passphrase:)``.
    @discardableResult
    func exportBackup(
        of accounts: [AccountID: UnlockMethod], items: Set<ItemName>?, to path: String,
        passphrase: borrowing SecretBytes
    ) async throws -> BackupContents
    /// Opens a backup and checks all of it. Nothing is changed.
    func openBackup(at path: String, passphrase: borrowing SecretBytes) async throws -> Backup
    /// Makes an account of a backup, which is not here yet, under a new password. See
    /// ``Storage/importBackup(_:account:newPassword:)``.
    @discardableResult
    func importBackup(
        _ backup: Backup, account: AccountID, newPassword: borrowing SecretBytes
    ) async throws -> BackupImport
    /// Adds the items of a backup to an account that is here. All of them are stored, or none.
    @discardableResult
    func importBackup(
        _ backup: Backup, into account: AccountID, with method: UnlockMethod, replacingItems: Bool
    ) async throws -> BackupImport
}

// The same with what is usual, and in the words of Trifork Identity Manager.
extension StorageProtocol {
    /// The subjects of the accounts here, oldest first.
    public var availableUserIDs: [String] {
        get async throws { try await all().map(\.id.subject) }
    }

    /// As ``storeRefreshToken(_:withNewPassword:alias:replacingItems:)``; items of an app are not lost.
    @discardableResult
    public func storeRefreshToken(
        _ token: RefreshToken, withNewPassword password: borrowing SecretBytes, alias: String? = nil
    ) async throws -> Session {
        try await storeRefreshToken(token, withNewPassword: password, alias: alias, replacingItems: false)
    }

    /// As ``storeRefreshToken(_:with:alias:)``, with the password.
    @discardableResult
    public func storeRefreshToken(
        _ token: RefreshToken, withExistingPassword password: borrowing SecretBytes, alias: String? = nil
    ) async throws -> Session {
        try await storeRefreshToken(token, with: .password(password), alias: alias)
    }

    /// As ``storeRefreshToken(_:with:alias:)``; the alias stays.
    @discardableResult
    public func storeRefreshToken(_ token: RefreshToken, with method: UnlockMethod) async throws -> Session {
        try await storeRefreshToken(token, with: method, alias: nil)
    }

    /// As ``setPIN(_:of:with:)``, for an account by one of its names, with the password.
    public func setPIN(
        _ pin: borrowing SecretBytes, userID: String, password: borrowing SecretBytes
    ) async throws {
        let method = try UnlockMethod.password(password)
        try await setPIN(pin, of: account(userID: userID).id, with: method)
    }

    /// As ``storedRefreshToken(of:with:)``, with the password.
    public func storedRefreshToken(
        userID: String, password: borrowing SecretBytes
    ) async throws -> RefreshToken {
        let method = try UnlockMethod.password(password)
        return try await storedRefreshToken(of: account(userID: userID).id, with: method)
    }

    /// As ``storedRefreshToken(of:with:)``, with hardware.
    public func storedRefreshTokenViaBiometrics(
        userID: String, using provider: any BiometricProvider, prompt: any BiometricPrompt
    ) async throws -> RefreshToken {
        try await storedRefreshToken(of: account(userID: userID).id, with: .hardware(provider, prompt))
    }

    /// Has a hardware key open the account with the key service, under its own label.
    public func enableBiometricAccess(
        userID: String, password: borrowing SecretBytes, using provider: any BiometricProvider,
        prompt: any BiometricPrompt, opensOffline: Bool = false
    ) async throws {
        try await enableBiometricAccess(
            userID: userID, password: password, using: provider, prompt: prompt, opensOffline: opensOffline, label: nil)
    }

    /// Whether hardware opens the account. Needs no network, and no hardware: whether it is there, its
    /// `availability(of:)` tells.
    public func hasBiometricAccess(userID: String) async throws -> Bool {
        try await account(userID: userID).keyslots.contains { $0.kind.isHardware }
    }

    /// Deletes an account on this machine alone. Nothing is revoked at the provider.
    public func clear(userID: String) async throws {
        try await delete(account(userID: userID).id, revokingWith: nil)
    }
}
