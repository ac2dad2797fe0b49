public import VaultBiometric
public import VaultStorage
public import VaultUnlock

// Accounts without a key service: see `VaultConfiguration.registersWithoutKeyService`.
extension Storage {
    /// Stores a refresh token of a new account that has no key service, and that hardware opens. The hardware counts
    /// wrong PINs: a TPM with a lockout password, a token or a security key.
    ///
    /// The person is then logged in. If another person was logged in, that session ends, with the reason `replaced`.
    ///
    /// - Parameters:
    ///   - token: the result of `Auth.performOpenIDConnectLogin(using:)`.
    ///   - provider: the hardware.
    ///   - prompt: asks the person for the PIN of the hardware. A TPM gets a new PIN.
    ///   - alias: a name for `userID` parameters.
    ///   - replacingItems: whether an existing account may lose an app's items and its other unlock methods.
    ///   - skipsPINRule: whether a TPM may get a PIN that `PINRule` finds easy to guess.
    /// - Throws: ``VaultError`` with code `configurationInvalid` if the configuration does not say that new accounts
    ///   have no key service, or if the hardware does not limit wrong PINs (use other hardware or a password);
    ///   `passwordUnusable` for a TPM's new PIN (choose another PIN), `hardwareMissing` (plug it in), `hardwareLocked`,
    ///   `hardwareFailed`, `cancelled`, `accountExists` (ask the person to confirm), `forbiddenByPolicy`, or
    ///   `storeUnreadable` (free disk space). Then nothing was changed.
    @discardableResult
    public func storeRefreshToken(
        _ token: SignInResult, withNewHardware provider: any BiometricProvider, prompt: any BiometricPrompt,
        alias: String?, replacingItems: Bool, skipsPINRule: Bool
    ) async throws -> Session {
        do {
            let first = FirstUnlockMethod.hardware(provider, prompt, skipsPINRule: skipsPINRule)
            return try await auth.open(token) { newest in
                try await accounts.register(newest, opening: first, alias: alias, replacingItems: replacingItems)
            }
        } catch {
            throw VaultError.converting(error)
        }
    }

    /// Moves an account without a key service to the key service of the configuration
    /// (`VaultConfiguration.keyServiceURL`). The unlock method that opens it stays, with the same secret. The account
    /// gets a new vault key, and all other unlock methods end. Open sessions of the account lock: log in again.
    ///
    /// An old copy of the disk still opens with the secret of that time, and shows the items of that time.
    ///
    /// - Parameters:
    ///   - account: an account whose `Account.hasKeyService` is false.
    ///   - method: the password, or hardware.
    /// - Returns: the unlock methods that ended, and what became of the old refresh token.
    /// - Throws: ``VaultError`` with code `accountNotFound`, the codes of opening with an ``UnlockMethod``,
    ///   `configurationInvalid` if the account has a key service or none is configured, `keyServiceUnavailable` or
    ///   `busy` (try again), `keyServiceNotTrusted`, `forbiddenByPolicy` for the key service (use another one), or
    ///   `storeUnreadable` (free disk space). Then nothing was changed.
    @discardableResult
    public func moveToKeyService(
        _ account: AccountID, with method: UnlockMethod
    ) async throws -> VaultKeyReplacement {
        try await VaultError.converting {
            let (session, replacement) = try await auth.moveToKeyService(accounts.account(account), with: method)
            await session?.lock()
            return replacement
        }
    }
}
