internal import VaultBase
public import VaultBiometric
public import VaultCrypto

/// A hardware key in memory, for an app's own tests. It has a PIN and counts wrong ones. A test can pull it, replace
/// it, lock it, and let it hang. It really seals its secrets, under a key that it never gives out.
public final class ScriptedHardwareKey: BiometricProvider {
    /// The numbers of calls of a token.
    public struct Calls: Hashable, Sendable {
        /// The calls of `availability(of:)`.
        public var availability: Int
        /// The calls of `protect(_:prompt:)`.
        public var protect: Int
        /// The calls of `unprotect(_:prompt:)`.
        public var unprotect: Int

        /// Makes a count, to compare with ``ScriptedHardwareKey/calls``.
        public init(availability: Int = 0, protect: Int = 0, unprotect: Int = 0) {
            self.availability = availability
            self.protect = protect
            self.unprotect = unprotect
        }
    }

    /// The hardware in the slot.
    private struct Device {
        let serialNumber: [UInt8]
        let key: SharedSecret

        init() throws {
            serialNumber = try SecretBytes.random(count: 16).withUnsafeBytes { Array($0) }
            key = try SharedSecret(SecretBytes.random(count: 32))
        }
    }

    private struct State {
        let own: Device
        let other: Device
        var pin: String
        var guessesLeft: Int
        var isPluggedIn = true
        var isReplaced = false
        var lockoutEndsAfter: Duration?
        var unusableReason: String?
        var calls = Calls()

        var present: Device { isReplaced ? other : own }
    }

    /// The kind of keyslot that it opens: `pkcs11`, unless the test chose another.
    public let kind: String
    /// Whether it says of itself that it counts wrong PINs. It counts them in any case.
    public let limitsGuesses: Bool
    /// The name for the person.
    public let label: String

    private let maximumGuesses: Int
    private let needsTouch: Bool
    private let state: Lock<State>
    private let gate = Gate()

    /// - Parameters:
    ///   - kind: the name of its kind of keyslot.
    ///   - label: the name for the person.
    ///   - pin: the PIN that opens it.
    ///   - maximumGuesses: the number of wrong PINs in a row that lock it.
    ///   - limitsGuesses: whether it reports that it counts wrong PINs.
    ///   - needsTouch: whether it wants a touch before it opens a secret.
    public init(
        kind: String = "pkcs11", label: String = "Scripted token", pin: String, maximumGuesses: Int = 3,
        limitsGuesses: Bool = true, needsTouch: Bool = false
    ) throws {
        self.kind = kind
        self.label = label
        self.maximumGuesses = maximumGuesses
        self.limitsGuesses = limitsGuesses
        self.needsTouch = needsTouch
        state = try Lock(State(own: Device(), other: Device(), pin: pin, guessesLeft: maximumGuesses))
    }

    // MARK: - What happens to it

    /// Whether it is plugged in. Set it to false to pull it.
    public var isPluggedIn: Bool {
        get { state.withLock { $0.isPluggedIn } }
        set { state.withLock { $0.isPluggedIn = newValue } }
    }

    /// Whether another token, with the same PIN, is in its place.
    public var isReplaced: Bool {
        get { state.withLock { $0.isReplaced } }
        set { state.withLock { $0.isReplaced = newValue } }
    }

    /// The PIN that opens it.
    public var pin: String {
        get { state.withLock { $0.pin } }
        set { state.withLock { $0.pin = newValue } }
    }

    /// The number of wrong PINs that are left before it locks; 0 while it is locked. Set it to lower it, or to unlock
    /// the key.
    public var guessesLeft: Int {
        get { state.withLock { $0.guessesLeft } }
        set { state.withLock { $0.guessesLeft = newValue } }
    }

    /// The reported time until the end of a lockout.
    public var lockoutEndsAfter: Duration? {
        get { state.withLock { $0.lockoutEndsAfter } }
        set { state.withLock { $0.lockoutEndsAfter = newValue } }
    }

    /// The reason why nothing works. Set it to simulate a missing library or service.
    public var unusableReason: String? {
        get { state.withLock { $0.unusableReason } }
        set { state.withLock { $0.unusableReason = newValue } }
    }

    /// The numbers of calls so far.
    public var calls: Calls { state.withLock { $0.calls } }

    /// Makes every call wait, like a hanging driver, until ``resume()`` or until its task is cancelled.
    public func hang() { gate.close() }

    /// Lets waiting calls continue.
    public func resume() { gate.open() }

    /// Returns when a call waits because of ``hang()``.
    public func waitUntilHanging() async { await gate.waitForWaiter() }

    // MARK: - BiometricProvider

    /// Tells whether it could open the secret now. It waits while it hangs.
    public func availability(of protected: ProtectedSecret?) async -> BiometricAvailability {
        state.withLock { $0.calls.availability += 1 }
        try? await gate.pass()
        return state.withLock { state in
            if let reason = state.unusableReason { return .unusable(reason) }
            guard state.isPluggedIn else { return .missing }
            if let protected, Self.serialNumber(of: protected) != state.present.serialNumber { return .missing }
            return state.guessesLeft > 0 ? .available : .lockedOut(for: state.lockoutEndsAfter)
        }
    }

    /// Asks for the PIN and seals a secret.
    ///
    /// - Throws: ``BiometricError``: `wrongPIN`, `lockedOut`, `hardwareMissing`; `unavailable` while ``unusableReason``
    ///   is set; `cancelled` when the task is cancelled. Errors of the prompt.
    public func protect(
        _ secret: borrowing SecretBytes, prompt: any BiometricPrompt
    ) async throws -> ProtectedSecret {
        state.withLock { $0.calls.protect += 1 }
        let device = try await open(prompt)
        let sealed = try SealedEnvelope.seal(secret, key: device.key.bytes, context: Self.context)
        return ProtectedSecret(bytes: [Self.version] + device.serialNumber + sealed, label: label)
    }

    /// Asks for the PIN and opens a secret.
    ///
    /// - Throws: ``BiometricError``: `wrongPIN`, `lockedOut`, `hardwareMissing`, `hardwareReplaced`; `failed` for
    ///   damaged bytes; `unavailable` while ``unusableReason`` is set; `cancelled` when the task is cancelled. Errors
    ///   of the prompt.
    public func unprotect(_ protected: ProtectedSecret, prompt: any BiometricPrompt) async throws -> SecretBytes {
        state.withLock { $0.calls.unprotect += 1 }
        guard let serialNumber = Self.serialNumber(of: protected) else {
            throw BiometricError(.failed, "What is stored for the token is damaged.")
        }
        let device = try await open(prompt, serialNumber: serialNumber)
        do {
            return try SealedEnvelope.open(Array(protected.bytes[17...]), key: device.key.bytes, context: Self.context)
        } catch {
            throw BiometricError(.failed, "What is stored for the token is damaged.", underlying: error)
        }
    }

    private static let version: UInt8 = 1
    private static let context = SealingContext(purpose: "scripted-token", issuer: "", subject: "", id: "")

    private static func serialNumber(of protected: ProtectedSecret) -> [UInt8]? {
        guard protected.bytes.count > 17, protected.bytes[0] == version else { return nil }
        return Array(protected.bytes[1..<17])
    }

    /// Asks the person for the PIN.
    private func open(_ prompt: any BiometricPrompt, serialNumber: [UInt8]? = nil) async throws -> Device {
        try await gate.pass()
        let guessesLeft = try state.withLock { state in
            _ = try present(state, serialNumber)
            return state.guessesLeft
        }
        let pin = try await prompt.pin(
            PINRequest(
                label: label, guessesLeft: guessesLeft, isLow: guessesLeft < maximumGuesses, isFinal: guessesLeft == 1))
        let isRight = pin.utf8String() == self.pin
        // The state may have changed while the person typed.
        let device = try state.withLock { state in
            let device = try present(state, serialNumber)
            state.guessesLeft = isRight ? maximumGuesses : state.guessesLeft - 1
            guard !isRight else { return device }
            if state.guessesLeft == 0 { throw lockedOut(state) }
            throw BiometricError(.wrongPIN, "The PIN is wrong.", guessesLeft: state.guessesLeft)
        }
        if needsTouch { await prompt.act("Touch the token.") }
        return device
    }

    /// Returns the present hardware, if it is usable.
    private func present(_ state: State, _ serialNumber: [UInt8]?) throws -> Device {
        if let reason = state.unusableReason { throw BiometricError(.unavailable, reason) }
        guard state.isPluggedIn else { throw BiometricError(.hardwareMissing, "Plug in \(label).") }
        if let serialNumber, serialNumber != state.present.serialNumber {
            throw BiometricError(.hardwareReplaced, "This is not the enrolled token. Plug in the enrolled one.")
        }
        guard state.guessesLeft > 0 else { throw lockedOut(state) }
        return state.present
    }

    private func lockedOut(_ state: State) -> BiometricError {
        BiometricError(.lockedOut, "\(label) is locked after too many wrong PINs.", endsAfter: state.lockoutEndsAfter)
    }
}
