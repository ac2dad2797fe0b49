package import VaultBiometric
package import VaultCrypto
package import VaultStorage
package import VaultUnlock

/// A backend over this machine's store. It has all that does not depend on the place of the vault key.
///
/// A conformer must not assume that it is the only session of the account.
package protocol StoredSession: SessionBackend {
    var account: UnlockedAccount { get }
    /// Returns the vault key, if the person may add an unlock method now.
    ///
    /// - Throws: ``VaultError`` with code `secretRequired` (ask for a secret) or `notLoggedIn`.
    func vaultKeyForNewKeyslot() async throws -> VaultKey
    func replacingVaultKey(
        _ body: (_ old: VaultKey) async throws -> ReplacedVaultKey
    ) async throws -> VaultKeyReplacement
}

extension StoredSession {
    package var id: AccountID { account.id }
    private var accounts: Accounts { account.accounts }

    package func begin(_ session: Session) { account.begin(session) }
    package func vaultKey() throws -> VaultKey { try account.vaultKey() }
    package var holdsUnstoredToken: Bool { accounts.unstored.holds(id) }

    // MARK: - The account

    package func identity() async throws -> SignInResult.Identity {
        let vaultKey = try account.vaultKey()
        do {
            return try await accounts.identity(of: accounts.account(id), vaultKey: vaultKey)
        } catch {
            throw await account.explained(error, using: vaultKey)
        }
    }

    package func grant() async throws -> Grant {
        do {
            return Grant(of: try await accounts.account(id))
        } catch {
            throw VaultError.converting(error)
        }
    }

    package func setUnsealedMetadata(_ value: String?, for key: String) async throws {
        try await VaultError.converting {
            try await accounts.store.apply(
                [.changeUnsealedMetadata { try UnsealedMetadata.set(value, for: key, in: &$0) }], to: id)
        }
    }

    package func devices(_ token: AccessToken) async throws -> [AccountDevice] {
        try await accounts.devices(of: id, token, vaultKey: account.vaultKey())
    }

    package func rename(_ device: AccountDevice, to name: String, _ token: AccessToken) async throws {
        try await accounts.rename(device, of: id, to: name, token, vaultKey: account.vaultKey())
    }

    package func revoke(_ device: AccountDevice, _ token: AccessToken) async throws {
        try await accounts.revoke(device, of: id, token, vaultKey: account.vaultKey())
    }

    // MARK: - Unlock methods

    package func setPassword(
        _ new: borrowing SecretBytes, dropsOtherMethods: Bool, skipsNewPasswordRule: Bool
    ) async throws -> VaultKeyReplacement? {
        try await account.converting {
            let vaultKey = try await vaultKeyForNewKeyslot()
            let stored = try await account.storedForNewKeyslot()
            guard dropsOtherMethods else {
                try await accounts.setPassword(
                    new, of: stored, vaultKey: vaultKey, skipsNewPasswordRule: skipsNewPasswordRule)
                return nil
            }
            return try await replacingVaultKey { old in
                try await accounts.setPassword(
                    new, of: stored, vaultKey: old, dropsOtherMethods: true, skipsNewPasswordRule: skipsNewPasswordRule)
            }
        }
    }

    package func addRecoveryCode(_ show: @Sendable (SharedSecret) async throws -> Void) async throws {
        let (stored, key) = try await account.converting {
            (try await account.storedForNewKeyslot(), try await vaultKeyForNewKeyslot())
        }
        let (code, slot) = try await account.converting {
            try await accounts.makeRecoveryKeyslot(for: stored, vaultKey: key)
        }
        do {
            try await show(code)
            try await accounts.add(slot, to: stored, vaultKey: key)
        } catch {
            await accounts.discard(slot, of: stored, key)
            throw error
        }
    }

    package func addOffline(password: borrowing SecretBytes) async throws {
        try await account.converting {
            let password = SharedSecret(try password.copy())
            let stored = try await account.storedForNewKeyslot()
            // The account's password is checked. A first password needs another secret.
            let key = try await stored.hasKeyService ? account.vaultKey() : vaultKeyForNewKeyslot()
            try await accounts.addOffline(password: password, to: stored, vaultKey: key)
        }
    }

    package func addHardware(
        _ provider: any BiometricProvider, prompt: any BiometricPrompt, opensOffline: Bool, label: String?,
        allowsUnlimitedGuesses: Bool, skipsPINRule: Bool
    ) async throws {
        try await account.converting {
            try await accounts.addHardware(
                provider, prompt: prompt, to: account.storedForNewKeyslot(), vaultKey: vaultKeyForNewKeyslot(),
                opensOffline: opensOffline, label: label, allowsUnlimitedGuesses: allowsUnlimitedGuesses,
                skipsPINRule: skipsPINRule)
        }
    }
}
