public import OpenIDConnect
public import VaultBiometric
public import VaultCrypto
public import VaultStorage
public import VaultUnlock

// An app's backend of its own needs only what its tests use.
extension SessionBackend {
    /// Does nothing.
    public func begin(_ session: Session) {}
    /// Throws `configurationInvalid`.
    public func refreshToken() async throws -> SignInResult { throw VaultError.unsupported() }
    /// Throws `configurationInvalid`.
    public func setTokens(_ tokens: SignInResult) async throws { throw VaultError.unsupported() }
    /// Returns nil: the tokens are not bound.
    public func proofKey() async throws -> DPoPKey? { nil }
    /// False.
    public var holdsUnstoredToken: Bool { false }
    /// Throws `configurationInvalid`.
    public func logOutEverywhere() async throws -> VaultError? { throw VaultError.unsupported() }
    /// Throws `configurationInvalid`.
    public func providerLogoutURL(redirectURI: String?, state: String?) async throws -> String {
        throw VaultError.unsupported()
    }

    /// Throws `configurationInvalid`.
    public func vaultKey() throws -> VaultKey { throw VaultError.unsupported() }
    /// Throws `configurationInvalid`.
    public func identity() async throws -> SignInResult.Identity { throw VaultError.unsupported() }
    /// Throws `configurationInvalid`.
    public func grant() async throws -> Grant { throw VaultError.unsupported() }
    /// Throws `configurationInvalid`.
    public func setUnsealedMetadata(_ value: String?, for key: String) async throws { throw VaultError.unsupported() }
    /// Throws `configurationInvalid`.
    public func devices(_ token: AccessToken) async throws -> [AccountDevice] { throw VaultError.unsupported() }
    /// Throws `configurationInvalid`.
    public func rename(_ device: AccountDevice, to name: String, _ token: AccessToken) async throws {
        throw VaultError.unsupported()
    }
    /// Throws `configurationInvalid`.
    public func revoke(_ device: AccountDevice, _ token: AccessToken) async throws { throw VaultError.unsupported() }

    /// Throws `configurationInvalid`.
    public func itemNames() async throws -> [ItemName] { throw VaultError.unsupported() }
    /// Throws `configurationInvalid`.
    public func item(_ name: ItemName) async throws -> StoredItem? { throw VaultError.unsupported() }
    /// Throws `configurationInvalid`.
    public func setItem<Content: AsyncSequence & Sendable>(
        _ name: ItemName, from content: Content, if expected: ItemExpectation
    ) async throws -> Bool where Content.Element == [UInt8] { throw VaultError.unsupported() }
    /// Throws `configurationInvalid`.
    public func removeItem(_ name: ItemName) async throws -> Bool { throw VaultError.unsupported() }

    /// Throws `configurationInvalid`.
    public func reauthenticate(with method: UnlockMethod) async throws { throw VaultError.unsupported() }
    /// Throws `configurationInvalid`.
    public func setPassword(
        _ new: borrowing SecretBytes, dropsOtherMethods: Bool, skipsNewPasswordRule: Bool
    ) async throws -> VaultKeyReplacement? { throw VaultError.unsupported() }
    /// Throws `configurationInvalid`.
    public func setPIN(_ pin: borrowing SecretBytes, skipsPINRule: Bool) async throws { throw VaultError.unsupported() }
    /// Throws `configurationInvalid`.
    public func addRecoveryCode(_ show: @Sendable (SharedSecret) async throws -> Void) async throws {
        throw VaultError.unsupported()
    }
    /// Throws `configurationInvalid`.
    public func addOffline(password: borrowing SecretBytes) async throws { throw VaultError.unsupported() }
    /// Throws `configurationInvalid`.
    public func addHardware(
        _ provider: any BiometricProvider, prompt: any BiometricPrompt, opensOffline: Bool, label: String?,
        allowsUnlimitedGuesses: Bool, skipsPINRule: Bool
    ) async throws { throw VaultError.unsupported() }
    /// Throws `configurationInvalid`.
    public func replaceVaultKey(keeping method: UnlockMethod) async throws -> VaultKeyReplacement {
        throw VaultError.unsupported()
    }

    /// Does nothing.
    public func end() {}
    /// Does nothing.
    public func lockForAll() async {}
}

extension VaultError {
    /// The error of a call that an app's own part does not have.
    static func unsupported(_ call: String = #function) -> VaultError {
        VaultError(
            .configurationInvalid, "This part is an app's own and does not have \(call). Add the method to it.")
    }
}
