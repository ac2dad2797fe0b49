public import VaultBiometric
public import VaultCrypto
internal import VaultStorage

// Adding and changing the ways into an open account. When one of these functions throws, it has changed nothing.
extension Session {
    /// Gives the account a new password. The way without the network, which opens with the password, gets it, too.
    ///
    /// - Parameters:
    ///   - new: UTF-8. Judge it with `NewPasswordRule` first.
    ///   - dropsOtherWays: whether PIN, recovery code and hardware are to go.
    /// - Throws: ``VaultError``: `passwordUnusable`, `notLoggedIn` when the session was locked, `forbiddenByPolicy`,
    ///   `busy`, `storeUnreadable`, `storeCorrupt`, `keyServiceUnavailable`, `configurationInvalid`. Nothing was
    ///   changed then.
    public func setPassword(_ new: borrowing SecretBytes, dropsOtherWays: Bool = false) async throws {
        try await converting {
            try await accounts.setPassword(
                new, of: accounts.account(id), vaultKey: openVaultKey(), dropsOtherWays: dropsOtherWays)
        }
    }

    /// Gives the account a PIN, in place of one that it has.
    ///
    /// - Parameter pin: UTF-8. Judge it with `PINRule` first.
    /// - Throws: ``VaultError``: `passwordUnusable`, `notLoggedIn` when the session was locked, `forbiddenByPolicy`,
    ///   `busy`, `storeUnreadable`, `storeCorrupt`, `keyServiceUnavailable`, `configurationInvalid`. Nothing was
    ///   changed then.
    public func setPIN(_ pin: borrowing SecretBytes) async throws {
        try await converting {
            if let agent {
                try accounts.requireNewPIN(pin)
                return try await agent.setPIN(pin)
            }
            try await accounts.addPIN(pin, to: accounts.account(id), vaultKey: openVaultKey())
        }
    }

    /// Makes a recovery code. It replaces an earlier one.
    ///
    /// - Parameter show: shows the code to the person. The new code works after `show` has returned. If `show` throws,
    ///   the earlier code still works.
    /// - Throws: ``VaultError``: `notLoggedIn` when the session was locked, `forbiddenByPolicy`, `busy`,
    ///   `storeUnreadable`, `storeCorrupt`, `keyServiceUnavailable`, `configurationInvalid`; also what `show` throws.
    ///   Nothing was changed then.
    public func addRecoveryCode(_ show: @Sendable (SharedSecret) async throws -> Void) async throws {
        let (account, key) = try await converting { (try await accounts.account(id), try openVaultKey()) }
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
    /// A thief who has the disk can then try passwords without a limit. Only a long password protects against that.
    ///
    /// - Parameter password: the account's password. It is checked first.
    /// - Throws: ``VaultError``: `wrongSecret`, `keyLocked`, `notLoggedIn` when the session was locked,
    ///   `forbiddenByPolicy`, `busy`, `storeUnreadable`, `storeCorrupt`, `keyMissing`, `keyServiceUnavailable`,
    ///   `configurationInvalid`. Nothing was changed then.
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
    ///   - opensOffline: whether the hardware key opens the account without the key service. It has to count wrong
    ///     PINs itself for that.
    ///   - label: what the person calls the hardware key; nil for its own label.
    /// - Throws: ``VaultError``: `hardwareMissing`, `hardwareLocked`, `hardwareFailed`, `cancelled`,
    ///   `configurationInvalid`, `notLoggedIn` when the session was locked, `forbiddenByPolicy`, `busy`,
    ///   `storeUnreadable`, `storeCorrupt`, `keyServiceUnavailable`. Nothing was changed then.
    public func addHardware(
        _ provider: any BiometricProvider, prompt: any BiometricPrompt, opensOffline: Bool = false, label: String? = nil
    ) async throws {
        try await converting {
            try await accounts.addHardware(
                provider, prompt: prompt, to: accounts.account(id), vaultKey: openVaultKey(),
                opensOffline: opensOffline,
                label: label)
        }
    }

    @discardableResult
    private func converting<R>(_ body: () async throws -> R) async throws -> R {
        do { return try await body() } catch { throw VaultError.converting(error) }
    }
}
