public import VaultBiometric
public import VaultCrypto
internal import VaultStorage

// The ways into an account that is open. What is added opens it from then on. Nothing was changed when one of these throws,
// and each may throw VaultError: notLoggedIn when the session was locked, forbiddenByPolicy, busy, storeUnreadable, and the
// errors of the key service.
extension Session {
    /// Gives the account a new password. The way without the network, which opens with the password, gets it, too.
    ///
    /// - Parameters:
    ///   - new: UTF-8. Judge it with `NewPasswordRule` first.
    ///   - dropsOtherWays: whether PIN, recovery code and hardware are to go.
    /// - Throws: ``VaultError`` with code `passwordUnusable`, and see above.
    public func setPassword(_ new: borrowing SecretBytes, dropsOtherWays: Bool = false) async throws {
        try await accounts.setPassword(
            new, of: accounts.account(id), vaultKey: openVaultKey(), dropsOtherWays: dropsOtherWays)
    }

    /// Gives the account a PIN, in place of one that it has.
    ///
    /// - Parameter pin: UTF-8. Judge it with `PINRule` first.
    /// - Throws: ``VaultError`` with code `passwordUnusable`, and see above.
    public func setPIN(_ pin: borrowing SecretBytes) async throws {
        try await accounts.addPIN(pin, to: accounts.account(id), vaultKey: openVaultKey())
    }

    /// Makes a recovery code, in place of one that there is.
    ///
    /// - Parameter show: shows the code to the person. It counts when this has returned; when this throws, an earlier code
    ///   stays.
    /// - Throws: ``VaultError``, see above, and what `show` throws.
    public func addRecoveryCode(_ show: @Sendable (SharedSecret) async throws -> Void) async throws {
        let (account, key) = (try await accounts.account(id), try openVaultKey())
        let (code, slot) = try await accounts.makeRecoveryKeyslot(for: account, vaultKey: key)
        do {
            try await show(code)
            try await accounts.add(slot, to: account, vaultKey: key)
        } catch {
            await accounts.discard(slot, of: account)
            throw error
        }
    }

    /// Lets the password open the account without the network.
    ///
    /// A thief who has the disk can then try as many passwords as there is time for: only a long password stands against
    /// that.
    ///
    /// - Parameter password: the account's password. It is checked first.
    /// - Throws: ``VaultError`` with code `wrongSecret` or `keyLocked`, and see above.
    public func addOffline(password: borrowing SecretBytes) async throws {
        let password = SharedSecret(try password.copy())
        try await accounts.addOffline(password: password, to: accounts.account(id), vaultKey: openVaultKey())
    }

    /// Has a hardware key open the account. Of the same kind there can be several.
    ///
    /// - Parameters:
    ///   - provider: the hardware.
    ///   - prompt: asks the person for its PIN.
    ///   - opensOffline: whether it is to do so without the key service: only for hardware that counts wrong PINs itself.
    ///   - label: what the person calls it; nil for its own label.
    /// - Throws: ``VaultError``: `hardwareMissing`, `hardwareLocked`, `hardwareFailed`, `cancelled`,
    ///   `configurationInvalid`, and see above.
    public func addHardware(
        _ provider: any BiometricProvider, prompt: any BiometricPrompt, opensOffline: Bool = false, label: String? = nil
    ) async throws {
        try await accounts.addHardware(
            provider, prompt: prompt, to: accounts.account(id), vaultKey: openVaultKey(), opensOffline: opensOffline,
            label: label)
    }
}
