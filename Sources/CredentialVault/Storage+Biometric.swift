public import VaultBiometric

// Opening an account with hardware, a PIN or a recovery code. The first four methods are those of Trifork Identity Manager.
extension Storage {
    /// Has a hardware token, TPM or security key open the account from now on, beside the password. Of the same kind there
    /// can be several.
    ///
    /// - Parameters:
    ///   - password: the account's password; it is checked first.
    ///   - provider: the hardware.
    ///   - prompt: asks the person for its PIN.
    ///   - opensOffline: whether it is to do so without the key service: only for hardware that counts wrong PINs itself.
    /// - Throws: `VaultError`: `wrongSecret` and what else opening the account throws; `hardwareMissing`,
    ///   `hardwareLocked`, `hardwareFailed`, `cancelled`. Nothing was changed then.
    public func enableBiometricAccess(
        userID: String, password: borrowing SecretBytes, using provider: any BiometricProvider,
        prompt: any BiometricPrompt, opensOffline: Bool = false
    ) async throws {
        let account = try await account(userID: userID)
        let vaultKey = try await accounts.open(account, with: .password(password))
        try await accounts.addHardware(
            provider, prompt: prompt, to: account, vaultKey: vaultKey, opensOffline: opensOffline)
    }

    /// Takes the account's hardware away: tokens, TPMs and security keys, all at once. Password and PIN stay.
    ///
    /// - Throws: `VaultError` with code `lastWayIn` when nothing else opens the account. Nothing was changed then.
    public func disableBiometricAccess(userID: String) async throws {
        try await accounts.removeHardware(of: account(userID: userID).id)
    }

    /// Whether hardware opens the account. Needs no network, and no hardware.
    public func hasBiometricAccess(userID: String) async throws -> Bool {
        try await account(userID: userID).keyslots.contains { $0.kind.isHardware }
    }

    /// Opens the account with hardware and returns its refresh token, without asking the provider for anything.
    ///
    /// - Throws: `VaultError`: `notEnrolled`, `hardwareMissing`, `hardwareReplaced`, `hardwareLocked`, `wrongSecret` (the
    ///   hardware's PIN), `cancelled`, `keyServiceUnavailable`, `notLoggedIn` when none is stored.
    public func storedRefreshTokenViaBiometrics(
        userID: String, using provider: any BiometricProvider, prompt: any BiometricPrompt
    ) async throws -> RefreshToken {
        let account = try await account(userID: userID)
        let vaultKey = try await accounts.open(account, with: .hardware(provider, prompt))
        return try await accounts.refreshToken(of: account.id, vaultKey: vaultKey)
    }

    /// Gives the account a PIN, beside the password.
    ///
    /// - Parameters:
    ///   - pin: UTF-8. Judge it with `PINRule` first.
    ///   - password: the account's password; it is checked first.
    public func setPIN(
        _ pin: borrowing SecretBytes, userID: String, password: borrowing SecretBytes
    ) async throws {
        let account = try await account(userID: userID)
        let vaultKey = try await accounts.open(account, with: .password(password))
        try await accounts.addPIN(pin, to: account, vaultKey: vaultKey)
    }
}
