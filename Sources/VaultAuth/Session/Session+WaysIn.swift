public import VaultBiometric
public import VaultCrypto
internal import VaultStorage

// Adding and changing the ways into an open account. If one of these functions throws, it has changed nothing. With
// the code `deviceRevoked`, the owner revoked this device, and the session has ended.
extension Session {
    /// Gives the account a new password. The offline way in opens with the password, so it also gets the new one.
    ///
    /// - Parameters:
    ///   - new: UTF-8.
    ///   - dropsOtherWays: whether to remove all other ways in, and to replace the vault key, too. See
    ///     ``replaceVaultKey(keeping:)``.
    ///   - skipsNewPasswordRule: whether to accept a password that `NewPasswordRule` finds easy to guess, because the app
    ///     has a rule of its own.
    /// - Returns: with `dropsOtherWays`, the ways in that ended and what became of the old refresh token; otherwise nil.
    /// - Throws: ``VaultError`` with code `passwordUnusable` or `forbiddenByPolicy` (choose another password),
    ///   `notLoggedIn` if the session was locked (log in again), `busy` (try again), `keyServiceUnavailable` (try
    ///   again later), `configurationInvalid` (correct the setting), `storeUnreadable` (free disk space), or
    ///   `storeCorrupt` (restore a backup). Then nothing was changed.
    @discardableResult
    public func setPassword(
        _ new: borrowing SecretBytes, dropsOtherWays: Bool = false, skipsNewPasswordRule: Bool = false
    ) async throws -> VaultKeyReplacement? {
        let replaced: ReplacedVaultKey? = try await converting {
            let account = try await accounts.account(id)
            guard dropsOtherWays else {
                try await accounts.setPassword(
                    new, of: account, vaultKey: openVaultKey(), skipsNewPasswordRule: skipsNewPasswordRule)
                return nil
            }
            return try await replacingVaultKey { old in
                try await accounts.setPassword(
                    new, of: account, vaultKey: old, dropsOtherWays: true, skipsNewPasswordRule: skipsNewPasswordRule)
            }
        }
        guard let replaced else { return nil }
        return await finished(replaced)
    }

    /// Gives the account a PIN. Replaces the old one.
    ///
    /// - Parameters:
    ///   - pin: UTF-8.
    ///   - skipsPINRule: whether to accept a PIN that `PINRule` finds easy to guess, because the app has a rule of its
    ///     own.
    /// - Throws: ``VaultError`` with code `passwordUnusable` or `forbiddenByPolicy` (choose another PIN),
    ///   `notLoggedIn` if the session was locked (log in again), `busy` (try again), `keyServiceUnavailable` (try
    ///   again later), `configurationInvalid` (correct the setting), `storeUnreadable` (free disk space), or
    ///   `storeCorrupt` (restore a backup). Then nothing was changed.
    public func setPIN(_ pin: borrowing SecretBytes, skipsPINRule: Bool = false) async throws {
        try await converting {
            if let agent {
                // The agent only checks the policy, because it does not know whether this app skips the rule.
                try await accounts.requireNewPIN(
                    pin, of: accounts.account(id).names, skipsPINRule: skipsPINRule)
                return try await agent.setPIN(pin)
            }
            try await accounts.addPIN(
                pin, to: accounts.account(id), vaultKey: openVaultKey(), skipsPINRule: skipsPINRule)
        }
    }

    /// Makes a recovery code. It replaces an earlier one.
    ///
    /// - Parameter show: shows the code to the person. The new code works after `show` has returned. If `show` throws,
    ///   the earlier code still works.
    /// - Throws: ``VaultError`` with code `notLoggedIn` if the session was locked (log in again), `forbiddenByPolicy`,
    ///   `busy` (try again), `keyServiceUnavailable` (try again later), `configurationInvalid` (correct the setting),
    ///   `storeUnreadable` (free disk space), or `storeCorrupt` (restore a backup). Also the errors of `show`. Then
    ///   nothing was changed.
    public func addRecoveryCode(_ show: @Sendable (SharedSecret) async throws -> Void) async throws {
        let (account, key) = try await converting { (try await accounts.account(id), try openVaultKey()) }
        let (code, slot) = try await converting {
            try await accounts.makeRecoveryKeyslot(for: account, vaultKey: key)
        }
        do {
            try await show(code)
            try await accounts.add(slot, to: account, vaultKey: key)
        } catch {
            await accounts.discard(slot, of: account, key)
            throw error
        }
    }

    /// Lets the password open the account without the network.
    ///
    /// A thief who has the disk can then try passwords without limit. Only a long password protects against that.
    ///
    /// - Parameter password: the account's password. It is checked first.
    /// - Throws: ``VaultError`` with code `wrongSecret` (ask again), `keyLocked` or `keyMissing` (use another way in),
    ///   `notLoggedIn` if the session was locked (log in again), `forbiddenByPolicy`, `busy` (try again),
    ///   `keyServiceUnavailable` (try again later), `configurationInvalid` (correct the setting), `storeUnreadable`
    ///   (free disk space), or `storeCorrupt` (restore a backup). Then nothing was changed.
    public func addOffline(password: borrowing SecretBytes) async throws {
        try await converting {
            let password = SharedSecret(try password.copy())
            try await accounts.addOffline(password: password, to: accounts.account(id), vaultKey: openVaultKey())
        }
    }

    /// Adds a hardware key that opens the account. An account can have several of the same kind.
    ///
    /// - Parameters:
    ///   - provider: the hardware key.
    ///   - prompt: asks the person for the PIN of the hardware key.
    ///   - opensOffline: whether the hardware key opens the account without the key service. The hardware must count
    ///     wrong PINs itself.
    ///   - label: the person's name for the hardware key; nil for its own label.
    ///   - allowsUnlimitedGuesses: whether the hardware may let a thief who has it try all PINs. A token of software does
    ///     so. Ask the person before you pass true.
    ///   - skipsPINRule: whether a TPM may get a PIN that `PINRule` finds easy to guess.
    /// - Throws: ``VaultError`` with code `guessesUnlimited` (ask the person, see `allowsUnlimitedGuesses`),
    ///   `passwordUnusable` for a TPM's new PIN (choose another PIN), `hardwareMissing` (plug it in), `hardwareLocked` or
    ///   `hardwareFailed` (see the text), `cancelled`, `configurationInvalid` (correct the setting), `notLoggedIn` if the session was locked (log
    ///   in again), `forbiddenByPolicy`, `busy` (try again), `keyServiceUnavailable` (try again later),
    ///   `storeUnreadable` (free disk space), or `storeCorrupt` (restore a backup). Then nothing was changed.
    public func addHardware(
        _ provider: any BiometricProvider, prompt: any BiometricPrompt, opensOffline: Bool = false,
        label: String? = nil, allowsUnlimitedGuesses: Bool = false, skipsPINRule: Bool = false
    ) async throws {
        try await converting {
            try await accounts.addHardware(
                provider, prompt: prompt, to: accounts.account(id), vaultKey: openVaultKey(),
                opensOffline: opensOffline, label: label, allowsUnlimitedGuesses: allowsUnlimitedGuesses,
                skipsPINRule: skipsPINRule)
        }
    }

    @discardableResult
    func converting<R>(_ body: () async throws -> R) async throws -> R {
        do {
            return try await body()
        } catch {
            let error = await ended(by: error)
            guard (error as? VaultError)?.code == .deviceRevoked else { throw error }
            throw await failed(error)
        }
    }
}
