public import VaultCrypto

/// A hardware key that protects a small secret: a PKCS#11 token, a TPM, a security key. It is like Touch ID and Face ID
/// on other systems. ``DesktopProvider`` is one without hardware.
///
/// The secret is a key of 32 random bytes. A conformer must not keep the secret. It must not block the cooperative
/// thread pool: C libraries and hardware get their own thread. It must not wait longer than its own time limit. It must
/// not assume that the same hardware is there at the next call. It throws ``BiometricError``, or the error of a prompt.
public protocol BiometricProvider: Sendable {
    /// The name of its kind of keyslot: `pkcs11`, `tpm2`, `fido2`, `desktop`.
    var kind: String { get }

    /// Whether hardware of this kind counts wrong PINs and stops at a limit. Only then may it protect a keyslot that
    /// opens without the key service, and only while ``guessLimit()`` is firm.
    var limitsGuesses: Bool { get }

    /// Checks, without a question to the person, whether the present hardware limits a thief's guesses. The default
    /// follows `limitsGuesses`.
    ///
    /// - Throws: ``BiometricError`` if the hardware is missing or does not tell.
    func guessLimit() async throws -> GuessLimit

    /// Checks, without a question to the person, whether a protected secret could be opened now.
    ///
    /// - Parameter protected: the secret; nil to ask about protecting a new one.
    func availability(of protected: ProtectedSecret?) async -> BiometricAvailability

    /// Protects a secret.
    ///
    /// - Parameters:
    ///   - secret: 32 bytes.
    ///   - prompt: asks the person for a PIN or a touch.
    func protect(_ secret: borrowing SecretBytes, prompt: any BiometricPrompt) async throws -> ProtectedSecret

    /// Opens a secret from ``protect(_:prompt:)``: returns exactly the same bytes, or throws.
    func unprotect(_ protected: ProtectedSecret, prompt: any BiometricPrompt) async throws -> SecretBytes

    /// Removes what the provider keeps outside ``ProtectedSecret/bytes``, without a question to the person. Call it
    /// after the secret's keyslot was removed. The default does nothing.
    func forget(_ protected: ProtectedSecret) async
}

extension BiometricProvider {
    /// Gives `firm` if ``limitsGuesses`` is true, and `absent` if not. It asks no hardware and never throws.
    public func guessLimit() async throws -> GuessLimit {
        limitsGuesses ? .firm : .absent("This hardware does not limit guesses.")
    }

    /// Does nothing, because most hardware keeps nothing of a secret.
    public func forget(_ protected: ProtectedSecret) async {}
}

/// The limit that hardware sets to a thief's guesses. The texts are for a person, and name the next step.
@nonexhaustive
public enum GuessLimit: Sendable, Hashable {
    /// It counts wrong PINs. Only another secret can reset the count.
    case firm
    /// It counts wrong PINs, but a thief may be able to reset the count, for this reason.
    case weak(String)
    /// It does not count wrong PINs, or its limit is too high, for this reason.
    case absent(String)
}

/// A secret under the protection of hardware. It is stored in the clear, as it is useless without the hardware.
public struct ProtectedSecret: Sendable, Hashable {
    /// The provider's data for opening it, in the provider's own format with a version; at most 64 KiB.
    public let bytes: [UInt8]
    /// The hardware's name for the person: the token's label or model.
    public let label: String

    /// Makes a protected secret for a ``BiometricProvider`` of your own.
    ///
    /// - Parameters:
    ///   - bytes: the form that the provider can open again, with a version in it; at most 64 KiB.
    ///   - label: the name of the hardware, for the person.
    public init(bytes: [UInt8], label: String) {
        self.bytes = bytes
        self.label = label
    }
}

/// Whether a protected secret could be opened now.
@nonexhaustive
public enum BiometricAvailability: Sendable, Hashable {
    /// The hardware is there.
    case available
    /// The hardware is missing, or another one is in its place.
    case missing
    /// The hardware accepts no PIN, for this time; nil if unknown.
    case lockedOut(for: Duration?)
    /// The hardware cannot be used here, for this reason: a library or service is not installed or not running.
    case unusable(String)
}

/// A prompt that asks the person on behalf of hardware.
///
/// A conformer must show the request unchanged, and must not keep the answer. It throws `BiometricError.cancelled` (or
/// `CancellationError`) if the person refuses.
public protocol BiometricPrompt: Sendable {
    /// Asks for a PIN.
    func pin(_ request: PINRequest) async throws -> SecretBytes

    /// Tells the person to do something at the hardware (touch it, use its keypad) while the provider waits.
    func act(_ instruction: String) async
}

/// The details of a question for a PIN.
public struct PINRequest: Sendable, Hashable {
    /// The hardware's name for the person.
    public let label: String
    /// The number of wrong PINs that are left; nil if the hardware does not tell.
    public let guessesLeft: Int?
    /// Whether a wrong PIN was entered since the last right one.
    public let isLow: Bool
    /// Whether the next wrong PIN locks the hardware.
    public let isFinal: Bool
    /// The least and greatest number of bytes.
    public let length: ClosedRange<Int>

    /// Makes a request for a PIN.
    ///
    /// - Parameters:
    ///   - label: the name of the hardware, for the person.
    ///   - guessesLeft: the number of wrong PINs that are left; nil when the hardware does not tell.
    ///   - isLow: whether a wrong PIN was entered before, without a right one since.
    ///   - isFinal: whether the next wrong PIN locks the hardware.
    ///   - length: the least and greatest number of bytes.
    public init(
        label: String, guessesLeft: Int? = nil, isLow: Bool = false, isFinal: Bool = false,
        length: ClosedRange<Int> = 1...64
    ) {
        self.label = label
        self.guessesLeft = guessesLeft
        self.isLow = isLow
        self.isFinal = isFinal
        self.length = length
    }
}
