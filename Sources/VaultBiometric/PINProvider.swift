public import VaultCrypto

/// The account's PIN in the form of a `BiometricProvider`, for apps that list their unlock methods as providers.
///
/// It uses the same keyslot as `UnlockMethod.pin` and `setPIN`. The key service checks the PIN and counts wrong ones,
/// so this provider opens nothing itself: ``protect(_:prompt:)`` and ``unprotect(_:prompt:)`` throw. Use it with
/// `loginWithBiometrics`, `enableBiometricAccess` and `UnlockMethod.hardware`.
public struct PINProvider: BiometricProvider {
    /// Makes a provider. It has no settings and opens nothing.
    public init() {}

    /// The kind of keyslot that the PIN opens: `pin`.
    public var kind: String { "pin" }
    /// False, as the key service counts the guesses. So a PIN never opens an account without the key service.
    public var limitsGuesses: Bool { false }

    /// Gives `available` at all times: a PIN needs no hardware. It does not look whether the account has a PIN.
    public func availability(of protected: ProtectedSecret?) async -> BiometricAvailability { .available }

    /// Throws, as a PIN protects nothing without the key service.
    public func protect(_ secret: borrowing SecretBytes, prompt: any BiometricPrompt) async throws -> ProtectedSecret {
        throw Self.isNoHardware
    }

    /// Throws, as a PIN protects nothing without the key service.
    public func unprotect(_ protected: ProtectedSecret, prompt: any BiometricPrompt) async throws -> SecretBytes {
        throw Self.isNoHardware
    }

    private static let isNoHardware = BiometricError(
        .failed, "A PIN opens an account only together with the key service.")
}
