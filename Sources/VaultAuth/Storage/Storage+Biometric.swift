public import VaultBiometric
public import VaultCrypto
public import VaultStorage
public import VaultUnlock

// Opening an account with hardware or a PIN. Trifork Identity Manager has the same functions, except those for the
// PIN. For a recovery code and for opening without the network, see `Session`.
extension Storage {
    /// Adds a hardware key that opens the account, in addition to the password. An account can have several of the same
    /// kind.
    ///
    /// - Parameters:
    ///   - userID: the subject, an alias, the e-mail address or the preferred user name.
    ///   - password: the account's password; it is checked first.
    ///   - provider: the hardware, or `PINProvider` for a PIN that the prompt asks for.
    ///   - prompt: asks the person for the hardware's PIN.
    ///   - opensOffline: whether the hardware opens the account without the key service. Only for hardware that counts
    ///     wrong PINs itself.
    ///   - label: the person's name for it; nil for the hardware's own label.
    ///   - allowsUnlimitedGuesses: whether the hardware may let a thief who has it try all PINs. A token of software
    ///     does so. Ask the person before you pass true.
    ///   - skipsPINRule: whether the account or a TPM may get a PIN that `PINRule` finds easy to guess.
    /// - Throws: `VaultError` with code `wrongSecret` (ask for the password again), `keyLocked` or `keyMissing` (use
    ///   another unlock method), `keyServiceUnavailable` (try again later), `guessesUnlimited` (ask the person, see
    ///   `allowsUnlimitedGuesses`), `passwordUnusable` for a new PIN (choose another PIN), `hardwareMissing` (plug it
    ///   in), `hardwareLocked` or `hardwareFailed` (see the text), `cancelled`, `configurationInvalid`, or
    ///   `forbiddenByPolicy`. Then nothing was changed. `BiometricProvider.guessLimit()` tells how strong the
    ///   hardware's PIN is.
    public func enableBiometricAccess(
        userID: String, password: borrowing SecretBytes, using provider: any BiometricProvider,
        prompt: any BiometricPrompt, opensOffline: Bool, label: String?, allowsUnlimitedGuesses: Bool,
        skipsPINRule: Bool
    ) async throws {
        try accounts.requireAllowed(Keyslot.Kind(rawValue: provider.kind))
        if opensOffline { try accounts.requireAllowed(.offline) }
        if provider.kind == Keyslot.Kind.pin.rawValue {
            guard !opensOffline else {
                throw VaultError(
                    .configurationInvalid,
                    "A PIN cannot open the account without the key service. Use hardware or the password for that.")
            }
            let pin = try await asking { try await prompt.pin(PINRequest(label: "new PIN", length: PINRule.length)) }
            return try await setPIN(pin, userID: userID, password: password, skipsPINRule: skipsPINRule)
        }
        let account = try await account(userID: userID)
        let vaultKey = try await accounts.open(account, with: .password(password))
        try await accounts.addHardware(
            provider, prompt: prompt, to: account, vaultKey: vaultKey, opensOffline: opensOffline, label: label,
            allowsUnlimitedGuesses: allowsUnlimitedGuesses, skipsPINRule: skipsPINRule)
    }

    /// Removes all hardware of the account: tokens, TPMs and security keys. Password and PIN stay.
    ///
    /// - Throws: `VaultError` with code `lastUnlockMethod` if nothing else opens the account: add another unlock method
    ///   first. Then nothing was changed.
    public func disableBiometricAccess(userID: String) async throws {
        try await accounts.removeHardware(of: account(userID: userID).id)
    }

    /// Gives the account a PIN. Replaces the old one. The PIN opens the account with `Auth.login(_:with:)` and
    /// `UnlockMethod.pin`.
    ///
    /// - Parameters:
    ///   - pin: UTF-8.
    ///   - account: the account that gets the PIN.
    ///   - method: the unlock method: the password, or another unlock method if the person forgot the
    ///     PIN.
    ///   - skipsPINRule: whether to accept a PIN that `PINRule` finds easy to guess, because the app has a rule of its
    ///     own.
    /// - Throws: `VaultError` with code `passwordUnusable` or `forbiddenByPolicy` (choose another PIN; nothing was
    ///   sent), `secretRequired` for a method that asks nothing (ask for a secret), `accountNotFound`, the codes of
    ///   opening with an ``UnlockMethod``, `busy` (try again), or `storeUnreadable` (free disk space). Then nothing was
    ///   changed.
    public func setPIN(
        _ pin: borrowing SecretBytes, of account: AccountID, with method: UnlockMethod, skipsPINRule: Bool
    ) async throws {
        try method.requireSecret()
        let account = try await self.account(account)
        try accounts.requireNewPIN(pin, of: account.names, skipsPINRule: skipsPINRule)
        let vaultKey = try await accounts.open(account, with: method)
        try await accounts.addPIN(pin, to: account, vaultKey: vaultKey, skipsPINRule: skipsPINRule)
    }

    private func asking(_ body: () async throws -> SecretBytes) async throws -> SecretBytes {
        do { return try await body() } catch { throw VaultError.converting(error, unlockMethod: .pin) }
    }

    /// Whether the account has a PIN. Needs no network. ``policy`` tells whether the PIN may be used.
    ///
    /// - Throws: `VaultError` with code `accountNotFound` (register), `storeUnreadable` or `busy` (try again), or
    ///   `storeCorrupt` (restore a backup).
    public func hasPIN(_ account: AccountID) async throws -> Bool {
        try await self.account(account).keyslot(.pin) != nil
    }

    /// Removes the account's PIN, and ends its key at the key service. An account without a PIN stays as it is. If the
    /// key cannot be ended, ``Auth/sessionUpdates(replaying:)`` tells it, and the next login tries again.
    ///
    /// - Throws: `VaultError` with code `lastUnlockMethod` if nothing else opens the account (add another unlock method
    ///   first), `accountNotFound`, `storeUnreadable` (free disk space), or `busy` (try again). Then nothing was
    ///   changed.
    public func removePIN(_ account: AccountID) async throws {
        try await accounts.removePIN(of: account)
    }
}
