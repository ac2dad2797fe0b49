package import VaultCrypto
package import VaultStorage

extension Accounts {
    /// Gives an account a new password. The new keyslot is staged and opened once as a test. Then it replaces the old
    /// one in one transaction. So exactly one of the two passwords works after a crash at any point.
    ///
    /// - Throws: ``VaultError`` with code `busy` if another program changed the password meanwhile: try again.
    ///   `forbiddenByPolicy`, `passwordUnusable`: choose another password. `wrongSecret`: ask for the old one again.
    ///   `keyLocked`, `keyMissing`: use another unlock method. `keyServiceUnavailable`: try again later.
    ///   `configurationInvalid`: correct the setting. `storeUnreadable`: free disk space. `storeCorrupt`: restore a
    ///   backup. After an error the old password still works.
    package func changePassword(
        of account: Account, from old: borrowing SecretBytes, to new: borrowing SecretBytes,
        skipsNewPasswordRule: Bool = false
    ) async throws {
        try requireNewPassword(new, of: account.names, skipsNewPasswordRule: skipsNewPasswordRule)
        try await setPassword(
            new, of: account, vaultKey: open(account, with: .password(old)), skipsNewPasswordRule: skipsNewPasswordRule)
    }

    /// As ``changePassword(of:from:to:skipsNewPasswordRule:)``, for an account that is already open.
    ///
    /// An offline keyslot opens with the password, so it also gets the new one. The other unlock methods stay, unless
    /// `dropsOtherMethods` is true. Then the account also gets a new vault key. So a thief who knows or has another
    /// unlock method, or opened the account before, no longer gets in.
    ///
    /// - Returns: the vault key from now on, and the unlock methods that were removed.
    @discardableResult
    package func setPassword(
        _ new: borrowing SecretBytes, of account: Account, vaultKey: VaultKey, dropsOtherMethods: Bool = false,
        skipsNewPasswordRule: Bool = false
    ) async throws -> ReplacedVaultKey {
        try requireNewPassword(new, of: account.names, skipsNewPasswordRule: skipsNewPasswordRule)
        try requireMaySetPassword(of: account, dropsOtherMethods: dropsOtherMethods)
        try await requireMayAddKeyslot(to: account)
        guard dropsOtherMethods else {
            try await putPassword(new, of: account, vaultKey: vaultKey)
            return ReplacedVaultKey(vaultKey: vaultKey, oldKey: nil, endedKeyslots: [])
        }
        return try await replaceVaultKey(vaultKey, withPassword: new, of: account)
    }

    /// As ``setPassword(_:of:vaultKey:dropsOtherMethods:skipsNewPasswordRule:)``, for a password that need not be new.
    /// No rule is applied. After a new registration, it works also on a revoked device.
    package func putPassword(
        _ new: borrowing SecretBytes, of account: Account, vaultKey: VaultKey
    ) async throws {
        try requireAllowed(.password)
        let slot = try await typedSlot(.password, new, account, vaultKey)
        FaultPoint.passwordKeyCreated.reach()
        let keepsOffline = account.keyslot(.offline).map { !history.isRemoved($0.id) } == true && account.hasKeyService
        let offline: Keyslot?
        do {
            offline = keepsOffline ? try await typedSlot(.offline, new, account, vaultKey) : nil
        } catch {
            await discard(slot, of: account, vaultKey)
            throw error
        }
        // Other unlock methods may change meanwhile. The password and the offline keyslot must not.
        let ofPassword = currentIDs(of: account, where: \.isOfPassword)
        let swap = KeyslotSwap(
            new: slot, secret: try SharedSecret(new.copy()), vaultKey: vaultKey,
            faults: (.passwordStaged, .passwordVerified, .passwordSwapped))
        try await self.swap(swap, into: account) { current in
            try Self.requirePassword(ofPassword, in: current)
            try await requireCurrent(vaultKey, of: current, as: account)
            return ofPassword.map { .removeKeyslot(id: $0) } + [offline].compactMap { $0.map { .putKeyslot($0) } }
        }
    }

    /// Refuses to change the password of an account without a key service, if that needs one, or if the account has no
    /// password. A thief who has the disk can try passwords without limit, so only ``addOffline(password:to:vaultKey:)``
    /// adds one.
    ///
    /// - Throws: ``VaultError`` with code `configurationInvalid` (detail `noKeyService`) or `notEnrolled`.
    package func requireMaySetPassword(of account: Account, dropsOtherMethods: Bool) throws {
        if dropsOtherMethods { try account.requireKeyService(for: "A new vault key") }
        guard !account.hasKeyService, account.keyslotIDs(where: { $0 == .password }).isEmpty else { return }
        throw VaultError(
            .notEnrolled, "\(account.displayName) has no password.", detail: .keyslotMissing, unlockMethod: .offline)
    }

    /// Refuses if another program changed the password.
    ///
    /// - Parameter ids: the keyslots that the password opened before.
    static func requirePassword(_ ids: Set<String>, in current: Account) throws {
        guard Set(current.keyslotIDs(where: \.isOfPassword)) == ids else {
            throw VaultError(
                .busy,
                "Another program changed the password meanwhile. Nothing was changed here. Log in with the new password, then try again."
            )
        }
    }
}
