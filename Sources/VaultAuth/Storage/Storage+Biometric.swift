public import VaultBiometric
public import VaultCrypto
public import VaultStorage

// Opening an account with hardware or a PIN. Trifork Identity Manager has the same functions, except those for the
// PIN. For a recovery code and for opening without the network, see `Session`.
extension Storage {
    /// Has a hardware key open the account from now on, beside the password. Of the same kind there
    /// can be several.
    ///
    /// - Parameters:
    ///   - userID: the subject, an alias, the e-mail address or the preferred user name.
    ///   - password: the account's password; it is checked first.
    ///   - provider: the hardware; or `PINProvider`, to give the account a PIN that the prompt asks for.
    ///   - prompt: asks the person for its PIN.
    ///   - opensOffline: whether it is to do so without the key service: only for hardware that counts wrong PINs
    ///     itself.
    ///   - label: what the person calls it; nil for its own label.
    /// - Throws: `VaultError`: `wrongSecret`, `keyLocked`, `keyMissing`, `keyServiceUnavailable` of the password;
    ///   `hardwareMissing`, `hardwareLocked`, `hardwareFailed`, `cancelled`, `configurationInvalid` of the hardware;
    ///   `forbiddenByPolicy`.
    ///   Nothing was changed then. What its PIN is worth, the hardware tells: see `BiometricProvider.guessLimit()`.
    public func enableBiometricAccess(
        userID: String, password: borrowing SecretBytes, using provider: any BiometricProvider,
        prompt: any BiometricPrompt, opensOffline: Bool, label: String?
    ) async throws {
        try accounts.requireAllowed(Keyslot.Kind(rawValue: provider.kind))
        if opensOffline { try accounts.requireAllowed(.offline) }
        if provider.kind == Keyslot.Kind.pin.rawValue {
            guard !opensOffline else {
                throw VaultError(.configurationInvalid, "A PIN cannot open the account without the key service.")
            }
            let pin = try await asking { try await prompt.pin(PINRequest(label: "new PIN", length: PINRule.length)) }
            return try await setPIN(pin, userID: userID, password: password)
        }
        let account = try await account(userID: userID)
        let vaultKey = try await accounts.open(account, with: .password(password))
        try await accounts.addHardware(
            provider, prompt: prompt, to: account, vaultKey: vaultKey, opensOffline: opensOffline, label: label)
    }

    /// Takes the account's hardware away: tokens, TPMs and security keys, all at once. Password and PIN stay.
    ///
    /// - Throws: `VaultError` with code `lastWayIn` when nothing else opens the account. Nothing was changed then.
    public func disableBiometricAccess(userID: String) async throws {
        try await accounts.removeHardware(of: account(userID: userID).id)
    }

    /// Gives the account a PIN, in place of one that it has. It opens the account with `Auth.login(_:with:)` and
    /// `UnlockMethod.pin`.
    ///
    /// - Parameters:
    ///   - pin: UTF-8. Judge it with `PINRule` first.
    ///   - account: the account that gets the PIN.
    ///   - method: opens the account first: the password, or another way in if the PIN was forgotten.
    /// - Throws: `VaultError`: `passwordUnusable` and `forbiddenByPolicy` (the PIN; nothing was sent); `accountNotFound`,
    ///   what opening with an ``UnlockMethod`` throws, `busy`, `storeUnreadable`. Nothing was changed then.
    public func setPIN(_ pin: borrowing SecretBytes, of account: AccountID, with method: UnlockMethod) async throws {
        try accounts.requireNewPIN(pin)
        let account = try await self.account(account)
        let vaultKey = try await accounts.open(account, with: method)
        try await accounts.addPIN(pin, to: account, vaultKey: vaultKey)
    }

    private func asking(_ body: () async throws -> SecretBytes) async throws -> SecretBytes {
        do { return try await body() } catch { throw VaultError.converting(error) }
    }

    /// Whether the account has a PIN. Needs no network. ``policy`` says whether the PIN may be used.
    ///
    /// - Throws: `VaultError`: `accountNotFound`, `storeUnreadable`, `storeCorrupt`, `busy`.
    public func hasPIN(_ account: AccountID) async throws -> Bool {
        try await self.account(account).keyslot(.pin) != nil
    }

    /// Takes the account's PIN away, and ends its key at the key service. An account without a PIN stays as it is. What
    /// could not be ended is told in ``Auth/sessionUpdates(replaying:)`` and tried again later.
    ///
    /// - Throws: `VaultError`: `lastWayIn` when nothing else opens the account, `accountNotFound`, `storeUnreadable`,
    ///   `busy`. Nothing was changed then.
    public func removePIN(_ account: AccountID) async throws {
        try await accounts.removePIN(of: account)
    }
}
