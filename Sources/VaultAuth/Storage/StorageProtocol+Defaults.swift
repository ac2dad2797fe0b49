public import Foundation
public import VaultBiometric
public import VaultCrypto
public import VaultStorage
public import VaultUnlock

// An app's mock needs only ``StorageProtocol/all()``. Accounts are looked up in it. Calls that a mock does not have
// throw `configurationInvalid`. ``Storage`` has all of them.
extension StorageProtocol {
    /// Returns one of all accounts.
    public func account(_ id: AccountID) async throws -> Account {
        guard let account = try await all().first(where: { $0.id == id }) else {
            throw VaultError.noAccount(id.subject)
        }
        return account
    }
    /// Returns the one of all accounts that has this name. A matching alias wins, then a matching subject.
    public func account(userID: String) async throws -> Account {
        let found = try await all().filter {
            [$0.id.subject, $0.alias, $0.email, $0.preferredUsername].contains(userID)
        }.meant(by: userID)
        guard let account = found.first else { throw VaultError.noAccount(userID) }
        guard found.count == 1 else {
            throw VaultError(
                .accountAmbiguous, "\(userID) names several accounts. Name one of them.", accounts: found.map(\.id))
        }
        return account
    }
    /// Throws `configurationInvalid`.
    public func hasRefreshToken(userID: String) async throws -> Bool { throw VaultError.unsupported() }
    /// The policy that allows everything.
    public var policy: VaultPolicy { .standard }
    /// Does nothing: it is ready.
    public func checkReady() async throws {}
    /// Does nothing: the store can be written.
    public func checkWritable() async throws {}
    /// Does nothing: the alias is free.
    public func checkAlias(_ alias: String, of account: AccountID?) async throws {}
    /// Throws `configurationInvalid`.
    public func keyslotSummaries(of account: AccountID) async throws -> [KeyslotSummary] {
        throw VaultError.unsupported()
    }
    /// Throws `configurationInvalid`.
    public func itemNames(of account: AccountID) async throws -> [ItemName] { throw VaultError.unsupported() }
    /// Whether the item is among ``StorageProtocol/itemNames(of:)``.
    public func hasItem(_ name: ItemName, of account: AccountID) async throws -> Bool {
        try await itemNames(of: account).contains(name)
    }
    /// Returns nil: the account does not open without the network.
    public func endOfOpeningOffline(of account: AccountID) async throws -> Date? { nil }
    /// Returns nil: there was no such notice.
    public func guessesElsewhere(of account: AccountID) async throws -> GuessesElsewhere? { nil }
    /// Returns no losses.
    public func lossesByNewPassword(of account: AccountID) async throws -> [String] { [] }
    /// Returns the first of the account's names that names no other account, or else the subject.
    public func uniqueName(of account: AccountID) async throws -> String {
        for name in try await self.account(account).allNames {
            do {
                if try await self.account(userID: name).id == account { return name }
            } catch let error as VaultError where error.code == .accountAmbiguous {
                // Another name may tell them apart.
            }
        }
        return account.subject
    }

    /// Throws `configurationInvalid`.
    public func storeRefreshToken(
        _ token: SignInResult, withNewPassword password: borrowing SecretBytes, alias: String?, replacingItems: Bool,
        skipsNewPasswordRule: Bool
    ) async throws -> Session { throw VaultError.unsupported() }
    /// Throws `configurationInvalid`.
    public func storeRefreshToken(
        _ token: SignInResult, withNewHardware provider: any BiometricProvider, prompt: any BiometricPrompt,
        alias: String?, replacingItems: Bool, skipsPINRule: Bool
    ) async throws -> Session { throw VaultError.unsupported() }
    /// Throws `configurationInvalid`.
    public func storeRefreshToken(
        _ token: SignInResult, with method: UnlockMethod, alias: String?
    ) async throws -> Session { throw VaultError.unsupported() }
    /// Throws `configurationInvalid`.
    public func storedRefreshToken(of account: AccountID, with method: UnlockMethod) async throws -> SignInResult {
        throw VaultError.unsupported()
    }

    /// Throws `configurationInvalid`.
    public func moveToKeyService(
        _ account: AccountID, with method: UnlockMethod
    ) async throws -> VaultKeyReplacement { throw VaultError.unsupported() }
    /// Throws `configurationInvalid`.
    public func changePassword(
        userID: String, from old: borrowing SecretBytes, to new: borrowing SecretBytes, skipsNewPasswordRule: Bool
    ) async throws { throw VaultError.unsupported() }
    /// Throws `configurationInvalid`.
    public func setPIN(
        _ pin: borrowing SecretBytes, of account: AccountID, with method: UnlockMethod, skipsPINRule: Bool
    ) async throws { throw VaultError.unsupported() }
    /// Whether the account has a PIN as a keyslot.
    public func hasPIN(_ account: AccountID) async throws -> Bool {
        try await self.account(account).keyslot(.pin) != nil
    }
    /// Throws `configurationInvalid`.
    public func removePIN(_ account: AccountID) async throws { throw VaultError.unsupported() }
    /// Throws `configurationInvalid`.
    public func enableBiometricAccess(
        userID: String, password: borrowing SecretBytes, using provider: any BiometricProvider,
        prompt: any BiometricPrompt, opensOffline: Bool, label: String?, allowsUnlimitedGuesses: Bool,
        skipsPINRule: Bool
    ) async throws { throw VaultError.unsupported() }
    /// Throws `configurationInvalid`.
    public func disableBiometricAccess(userID: String) async throws { throw VaultError.unsupported() }
    /// Throws `configurationInvalid`.
    public func removeKeyslot(_ id: String, of account: AccountID) async throws { throw VaultError.unsupported() }
    /// Throws `configurationInvalid`.
    public func setAlias(_ alias: String?, of account: AccountID) async throws { throw VaultError.unsupported() }
    /// Throws `configurationInvalid`.
    public func renameKeyslot(_ id: String, of account: AccountID, to label: String?) async throws {
        throw VaultError.unsupported()
    }
    /// Throws `configurationInvalid`.
    public func delete(_ account: AccountID, revokingWith method: UnlockMethod?) async throws -> VaultError? {
        throw VaultError.unsupported()
    }

    /// Throws `configurationInvalid`.
    public func exportBackup(
        of accounts: [AccountID: UnlockMethod], items: Set<ItemName>?, to path: String,
        passphrase: borrowing SecretBytes, skipsNewPasswordRule: Bool
    ) async throws -> BackupContents { throw VaultError.unsupported() }
    /// Does nothing.
    public func checkBackup(at path: String) async throws {}
    /// Throws `configurationInvalid`.
    public func openBackup(at path: String, passphrase: borrowing SecretBytes) async throws -> Backup {
        throw VaultError.unsupported()
    }
    /// Throws `configurationInvalid`.
    public func importBackup(
        _ backup: Backup, account: AccountID, newPassword: borrowing SecretBytes, skipsNewPasswordRule: Bool
    ) async throws -> BackupImport { throw VaultError.unsupported() }
    /// Throws `configurationInvalid`.
    public func importBackup(
        _ backup: Backup, into account: AccountID, with method: UnlockMethod, replacingItems: Bool
    ) async throws -> BackupImport { throw VaultError.unsupported() }
}

extension VaultError {
    fileprivate static func noAccount(_ name: String) -> VaultError {
        VaultError(.accountNotFound, "There is no account \(name) here. Register it.")
    }
}
