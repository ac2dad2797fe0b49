public import VaultCrypto

/// Protects a small secret with a hardware key: a PKCS#11 token, a TPM, a security key. What Touch ID and
/// Face ID are elsewhere.
///
/// The secret is a key of 32 random bytes; what it opens is the vault's business. A conformer must not keep the secret,
/// must not block the cooperative thread pool (C libraries and hardware get a thread of their own), must not wait longer
/// than its own time limit, and must not assume that the hardware is the same, or there at all, from one call to the
/// next. It throws ``BiometricError``, and what a prompt that it was given throws.
public protocol BiometricProvider: Sendable {
    /// What keyslots made with it are called: `pkcs11`, `tpm2`, `fido2`.
    var kind: String { get }

    /// Whether hardware of this kind counts wrong PINs itself and stops at some number of them. Only then may it protect a
    /// keyslot that opens without the key service, and only while ``guessLimit()`` is firm.
    var limitsGuesses: Bool { get }

    /// Finds out, without asking the person for anything, whether the hardware that is there now limits the guesses of
    /// somebody who has it. Without this function that is what `limitsGuesses` says.
    ///
    /// - Throws: ``BiometricError`` when the hardware is not there or does not tell.
    func guessLimit() async throws -> GuessLimit

    /// Finds out, without asking the person for anything, whether a protected secret could be opened now.
    ///
    /// - Parameter protected: nil to ask whether something new could be protected.
    func availability(of protected: ProtectedSecret?) async -> BiometricAvailability

    /// Protects a secret.
    ///
    /// - Parameters:
    ///   - secret: 32 bytes.
    ///   - prompt: asks the person for a PIN or a touch.
    func protect(_ secret: borrowing SecretBytes, prompt: any BiometricPrompt) async throws -> ProtectedSecret

    /// Opens what ``protect(_:prompt:)`` made: exactly the same bytes, or an error.
    func unprotect(_ protected: ProtectedSecret, prompt: any BiometricPrompt) async throws -> SecretBytes
}

extension BiometricProvider {
    /// Gives `firm` if ``limitsGuesses`` is true, and `absent` if not. It asks no hardware and never throws.
    public func guessLimit() async throws -> GuessLimit {
        limitsGuesses ? .firm : .absent("This hardware does not limit guesses.")
    }
}

/// Whether hardware limits the guesses of somebody who has it. The texts are for a person, and say what to do.
public enum GuessLimit: Sendable, Hashable {
    /// It counts wrong PINs, and only whoever knows another secret starts the count anew.
    case firm
    /// It counts them, and whoever has it may be able to start the count anew, for this reason.
    case weak(String)
    /// It does not count them, or so that it is no limit.
    case absent(String)
}

/// A secret under the protection of hardware. It is stored in the clear: without the hardware it is worth nothing.
public struct ProtectedSecret: Sendable, Hashable {
    /// What the provider needs to open it, in a form of its own with a version in it; at most 64 KiB.
    public let bytes: [UInt8]
    /// What the person knows the hardware by: the token's label or model.
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

/// Whether something protected could be opened now.
public enum BiometricAvailability: Sendable, Hashable {
    /// The hardware is there.
    case available
    /// It is not there, or another one is.
    case missing
    /// It is there and refuses PINs; until then, where that is known.
    case lockedOut(for: Duration?)
    /// It cannot be used at all here, for this reason: a library or service is not installed or not running.
    case unusable(String)
}

/// Asks the person on behalf of hardware.
///
/// A conformer must show what it is asked for as it is, must not keep the answer, and throws `BiometricError.cancelled`
/// (or `CancellationError`) when the person does not want to.
public protocol BiometricPrompt: Sendable {
    /// Asks for a PIN.
    func pin(_ request: PINRequest) async throws -> SecretBytes

    /// Tells the person to do something at the hardware (touch it, use its keypad) while the provider waits.
    func act(_ instruction: String) async
}

/// What a PIN is asked for.
public struct PINRequest: Sendable, Hashable {
    /// What the person knows the hardware by.
    public let label: String
    /// How many wrong PINs are left, where the hardware tells.
    public let triesLeft: Int?
    /// Whether a wrong PIN was entered before, without a right one since.
    public let isLow: Bool
    /// Whether the next wrong PIN locks the hardware.
    public let isFinal: Bool
    /// The least and greatest number of bytes.
    public let length: ClosedRange<Int>

    /// Makes a request for a PIN.
    ///
    /// - Parameters:
    ///   - label: the name of the hardware, for the person.
    ///   - triesLeft: the number of wrong PINs that are left; nil when the hardware does not tell.
    ///   - isLow: whether a wrong PIN was entered before, without a right one since.
    ///   - isFinal: whether the next wrong PIN locks the hardware.
    ///   - length: the least and greatest number of bytes.
    public init(
        label: String, triesLeft: Int? = nil, isLow: Bool = false, isFinal: Bool = false,
        length: ClosedRange<Int> = 1...64
    ) {
        self.label = label
        self.triesLeft = triesLeft
        self.isLow = isLow
        self.isFinal = isFinal
        self.length = length
    }
}
