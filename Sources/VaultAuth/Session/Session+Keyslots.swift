public import VaultBiometric
public import VaultCrypto
public import VaultUnlock

// Adding and changing the unlock methods of an open account. If one of these functions throws, it has changed nothing.
// With the code `deviceRevoked`, the owner revoked this device, and the session has ended. With `secretRequired`, the
// login is more than five minutes old: ask for a secret, and call ``Session/reauthenticate(with:)``.
extension Session {
    /// Opens the account again with a secret of its person, so that new unlock methods can be added for five minutes.
    ///
    /// Otherwise each program that uses the session, or somebody at an unlocked screen, could make a permanent unlock
    /// method. After a login in this program, the next five minutes need no second secret. A wrong secret counts at the
    /// key service, as at a login.
    ///
    /// - Parameter method: an unlock method. The agent takes only a secret that a person types.
    /// - Throws: ``VaultError`` with the codes of opening with an ``UnlockMethod``; `secretRequired` for the keyring of
    ///   the desktop, which asks nothing; `notLoggedIn` if the session was locked (log in again);
    ///   `configurationInvalid` for another method through the agent.
    public func reauthenticate(with method: UnlockMethod) async throws {
        try requireOpen()
        try await backend.reauthenticate(with: method)
    }

    /// Gives the account a new password. The offline unlock method opens with the password, so it also gets the new
    /// one.
    ///
    /// - Parameters:
    ///   - new: UTF-8.
    ///   - dropsOtherMethods: whether to remove all other unlock methods, and to replace the vault key, too. See
    ///     ``replaceVaultKey(keeping:)``.
    ///   - skipsNewPasswordRule: whether to accept a password that `NewPasswordRule` finds easy to guess, because the
    ///     app has a rule of its own.
    /// - Returns: with `dropsOtherMethods`, the unlock methods that ended and what became of the old refresh token;
    ///   otherwise nil.
    /// - Throws: ``VaultError`` with code `passwordUnusable` or `forbiddenByPolicy` (choose another password),
    ///   `secretRequired` (ask for a secret), `notLoggedIn` if the session was locked (log in again), `busy` (try
    ///   again), `keyServiceUnavailable` (try again later), `configurationInvalid` (correct the setting),
    ///   `storeUnreadable` (free disk space), or `storeCorrupt` (restore a backup). Then nothing was changed.
    @discardableResult
    public func setPassword(
        _ new: borrowing SecretBytes, dropsOtherMethods: Bool = false, skipsNewPasswordRule: Bool = false
    ) async throws -> VaultKeyReplacement? {
        try requireOpen()
        return try await backend.setPassword(
            new, dropsOtherMethods: dropsOtherMethods, skipsNewPasswordRule: skipsNewPasswordRule)
    }

    /// Gives the account a PIN. Replaces the old one.
    ///
    /// - Parameters:
    ///   - pin: UTF-8.
    ///   - skipsPINRule: whether to accept a PIN that `PINRule` finds easy to guess, because the app has a rule of its
    ///     own.
    /// - Throws: ``VaultError`` with code `passwordUnusable` or `forbiddenByPolicy` (choose another PIN),
    ///   `secretRequired` (ask for a secret), `notLoggedIn` if the session was locked (log in again), `busy` (try
    ///   again), `keyServiceUnavailable` (try again later), `keyMissing` (log in with another unlock method, then try
    ///   again), `configurationInvalid` (correct the setting), `storeUnreadable` (free disk space), or `storeCorrupt`
    ///   (restore a backup). Then nothing was changed. With `deviceRevoked`, the session has ended: register again.
    public func setPIN(_ pin: borrowing SecretBytes, skipsPINRule: Bool = false) async throws {
        try requireOpen()
        try await backend.setPIN(pin, skipsPINRule: skipsPINRule)
    }

    /// Makes a recovery code. It replaces an earlier one.
    ///
    /// - Parameter show: shows the code to the person. The new code works after `show` has returned. If `show` throws,
    ///   the earlier code still works.
    /// - Throws: ``VaultError`` with code `secretRequired` (ask for a secret), `notLoggedIn` if the session was locked
    ///   (log in again), `forbiddenByPolicy`, `busy` (try again), `keyServiceUnavailable` (try again later),
    ///   `configurationInvalid` (correct the setting), `storeUnreadable` (free disk space), or `storeCorrupt` (restore
    ///   a backup). Also the errors of `show`. Then nothing was changed.
    public func addRecoveryCode(_ show: @Sendable (SharedSecret) async throws -> Void) async throws {
        try requireOpen()
        try await backend.addRecoveryCode(show)
    }

    /// Lets the password open the account without the network.
    ///
    /// A thief who has the disk can then try passwords without limit. Only a long password protects against that.
    ///
    /// - Parameter password: the account's password, which is checked first. If the account has no key service and no
    ///   password, a new password.
    /// - Throws: ``VaultError`` with code `wrongSecret` (ask again), `keyLocked` or `keyMissing` (use another unlock
    ///   method), `notLoggedIn` if the session was locked (log in again), `forbiddenByPolicy`, `busy` (try again),
    ///   `keyServiceUnavailable` (try again later), `configurationInvalid` (correct the setting), `storeUnreadable`
    ///   (free disk space), or `storeCorrupt` (restore a backup). Then nothing was changed.
    public func addOffline(password: borrowing SecretBytes) async throws {
        try requireOpen()
        try await backend.addOffline(password: password)
    }

    /// Adds a hardware key that opens the account. An account can have several of the same kind.
    ///
    /// - Parameters:
    ///   - provider: the hardware key.
    ///   - prompt: asks the person for the PIN of the hardware key.
    ///   - opensOffline: whether the hardware key opens the account without the key service. The hardware must count
    ///     wrong PINs itself.
    ///   - label: the person's name for the hardware key; nil for its own label.
    ///   - allowsUnlimitedGuesses: whether the hardware may let a thief who has it try all PINs. A token of software
    ///     does so. Ask the person before you pass true.
    ///   - skipsPINRule: whether a TPM may get a PIN that `PINRule` finds easy to guess.
    /// - Throws: ``VaultError`` with code `guessesUnlimited` (ask the person, see `allowsUnlimitedGuesses`),
    ///   `passwordUnusable` for a TPM's new PIN (choose another PIN), `hardwareMissing` (plug it in), `hardwareLocked`
    ///   or `hardwareFailed` (see the text), `cancelled`, `configurationInvalid` (correct the setting),
    ///   `secretRequired` (ask for a secret), `notLoggedIn` if the session was locked (log in again),
    ///   `forbiddenByPolicy`, `busy` (try again), `keyServiceUnavailable` (try again later), `storeUnreadable` (free
    ///   disk space), or `storeCorrupt` (restore a backup). Then nothing was changed.
    public func addHardware(
        _ provider: any BiometricProvider, prompt: any BiometricPrompt, opensOffline: Bool = false,
        label: String? = nil, allowsUnlimitedGuesses: Bool = false, skipsPINRule: Bool = false
    ) async throws {
        try requireOpen()
        try await backend.addHardware(
            provider, prompt: prompt, opensOffline: opensOffline, label: label,
            allowsUnlimitedGuesses: allowsUnlimitedGuesses, skipsPINRule: skipsPINRule)
    }

    /// Lets the keyring of the desktop open the account, without a question. It replaces an earlier one.
    ///
    /// From then on, the account opens for anybody who is logged in to the desktop, and for each program there. On a
    /// stolen disk, it is as safe as the password of the desktop. Tell the person this, and ask first.
    ///
    /// - Parameter keyring: the desktop's keyring, for example `SecretService` of the product VaultSecretService. It
    ///   may ask the person to unlock it.
    /// - Throws: ``VaultError`` with code `hardwareMissing` (there is no keyring here), `hardwareLocked` if the person
    ///   does not unlock it (ask again), `hardwareFailed` (see the text), `configurationInvalid` (correct the setting),
    ///   `secretRequired` (ask for a secret), `notLoggedIn` if the session was locked (log in again),
    ///   `forbiddenByPolicy`, `busy` (try again), `keyServiceUnavailable` (try again later), `storeUnreadable` (free
    ///   disk space), or `storeCorrupt` (restore a backup). Then nothing was changed.
    public func addDesktop(_ keyring: any DesktopKeyring) async throws {
        try await addHardware(DesktopProvider(keyring), prompt: NoQuestions(), allowsUnlimitedGuesses: true)
    }
}
