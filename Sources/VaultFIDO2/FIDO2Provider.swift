#if FIDO2
    public import VaultBiometric
    public import VaultCrypto

    /// A provider that protects a secret with a FIDO2 security key, its PIN and a touch. The key counts wrong PINs.
    /// Most keys stop after 3 until they are unplugged, and for good after 8.
    ///
    /// The key makes a credential. From a random salt, it computes the key that seals the secret (the extension
    /// hmac-secret). The security key stores nothing. Only the same security key and its PIN open the secret. After a
    /// reset of the security key, the secret is lost.
    ///
    /// - Important: This was tested through libfido2 with software security keys, and with one firmware in a
    ///   simulation. It was not tested with a real key yet.
    public struct FIDO2Provider: BiometricProvider {
        /// The kind of keyslot that a security key opens: `fido2`.
        public let kind = "fido2"

        /// False if keys without a PIN are allowed, as they have nothing to count.
        public var limitsGuesses: Bool { !allowsTouchOnly }

        private let devices: (any FIDO2Devices)?
        private let allowsTouchOnly: Bool
        /// The thread for calls that need no person.
        private let thread: HardwareThread
        /// The thread for calls that wait for a touch.
        private let touchThread: HardwareThread

        /// Makes a provider, without a connection to a key.
        ///
        /// - Parameters:
        ///   - devices: the source of keys; nil for this machine's USB.
        ///   - allowsTouchOnly: whether a key without a PIN, or a key that ignores its PIN, may be enrolled. Then a
        ///     thief with the key and a copy of the disk needs only a touch. Earlier enrolments do not change.
        ///   - timeLimit: the key's time limit for calls that need no person.
        ///   - touchLimit: the person's time limit for a touch. Most keys wait for at most 30 seconds.
        ///   - clock: the clock that counts the limits.
        public init(
            devices: (any FIDO2Devices)? = nil, allowsTouchOnly: Bool = false, timeLimit: Duration = .seconds(15),
            touchLimit: Duration = .seconds(60), clock: any Clock<Duration> = ContinuousClock()
        ) {
            self.devices = devices
            self.allowsTouchOnly = allowsTouchOnly
            thread = HardwareThread(
                limit: timeLimit, clock: clock,
                late:
                    "The security key did not answer within \(timeLimit.inWords). Close other programs that use it, or "
                    + "unplug it and plug it in again.")
            touchThread = HardwareThread(
                limit: touchLimit, clock: clock,
                late: "The security key was not touched within \(touchLimit.inWords). Try again.")
        }

        /// Looks whether a security key could open the secret now, or could be enrolled. It asks the person for
        /// nothing.
        ///
        /// - Parameter protected: the secret; nil to ask whether the one key that is plugged in could be enrolled.
        /// - Returns: `missing` also when another key is plugged in; `unusable` also when more than one key could be
        ///   enrolled.
        public func availability(of protected: ProtectedSecret?) async -> BiometricAvailability {
            await .found {
                if let protected {
                    _ = try await inspect(try StoredForm(protected.bytes))
                } else {
                    _ = try await candidate()
                }
            }
        }

        /// Enrols the key that is plugged in. The person touches it three times: to make the credential, to compute
        /// from it, and to check that the answer without the PIN differs. Some keys ignore the PIN: CTAP before 2.1
        /// allows that, and not every newer key obeys. If touch-only keys are allowed, two touches are enough.
        public func protect(
            _ secret: borrowing SecretBytes, prompt: any BiometricPrompt
        ) async throws -> ProtectedSecret {
            guard secret.count == 32 else { throw BiometricError(.failed, "The secret does not have 32 bytes.") }
            let secret = try SecretBox(secret.copy())
            let candidate = try await candidate()
            let device = candidate.device
            let pin = try await pin(
                for: device.label, candidate.guessesLeft, candidate.abilities.pinLength, prompt: prompt)

            await prompt.act("Touch the security key (\(device.label)).")
            let credential = try await run(on: touchThread) { ring in
                try ring.asking(device) { try $0.makeCredential(pin: pin) }
            }
            await prompt.act("Touch the security key (\(device.label)) again.")
            let salt = KeyConnection.randomBytes()
            let answer = try await run(on: touchThread) { ring in
                try ring.asking(device) {
                    SecretBox(try $0.secret(of: credential.id, salt: salt, pin: pin, provenBy: credential.publicKey))
                }
            }
            .take()
            if pin != nil, !allowsTouchOnly {
                await prompt.act(
                    "Touch the security key (\(device.label)) once more. This checks that its PIN counts.")
                let box = SecretBox(try answer.copy())
                try await run(on: touchThread) { ring in
                    try ring.using(device) {
                        try ring.connect(to: device).requireAnother(than: box.take(), of: credential.id, salt: salt)
                    }
                }
            }
            let form = try StoredForm(
                sealing: secret.take(), under: answer, credentialID: credential.id, salt: salt, needsPIN: pin != nil)
            return ProtectedSecret(bytes: form.bytes, label: device.label)
        }

        /// Opens a secret. It asks the prompt for one touch, and for the PIN unless the key was enrolled without one.
        /// The key counts a wrong PIN.
        ///
        /// - Parameters:
        ///   - protected: the result of ``protect(_:prompt:)``.
        ///   - prompt: asks the person for the PIN and the touch.
        /// - Returns: the secret, 32 bytes.
        /// - Throws: ``BiometricError``: `wrongPIN`: ask again, see ``BiometricError/guessesLeft``. `lockedOut`: unplug
        ///   the key, or use another method. `hardwareMissing`, `hardwareReplaced`: plug in the enrolled key.
        ///   `timedOut`: try again. `cancelled`: the person refused. `unavailable`, `failed`: the text says why. Errors
        ///   of the prompt. `CancellationError` when the task is cancelled.
        public func unprotect(
            _ protected: ProtectedSecret, prompt: any BiometricPrompt
        ) async throws -> SecretBytes {
            let form = try StoredForm(protected.bytes)
            let state = try await inspect(form)
            let pin = try await pin(for: protected.label, state.guessesLeft, state.pinLength, prompt: prompt)
            await prompt.act("Touch the security key (\(protected.label)).")
            return try await run(on: touchThread) { ring in
                // The key is searched again: another key in its place must not get the PIN.
                let (device, key) = try ring.find(form.credentialID)
                return try ring.asking(device, key) { key in
                    let answer = try key.secret(of: form.credentialID, salt: form.salt, pin: pin)
                    return SecretBox(try form.open(under: answer))
                }
            }
            .take()
        }

        /// Asks for the PIN of a key that has one.
        private func pin(
            for label: String, _ guessesLeft: Int?, _ length: ClosedRange<Int>, prompt: any BiometricPrompt
        ) async throws -> KeyPIN? {
            guard let guessesLeft else { return nil }
            let request = PINRequest(
                label: label, guessesLeft: guessesLeft, isLow: guessesLeft < KeyPIN.guesses, isFinal: guessesLeft == 1,
                length: length)
            return try KeyPIN(try await prompt.pin(request), length: length)
        }

        /// The facts about an enrolled key that are known without its PIN.
        private struct State: Sendable {
            /// The number of PINs that are left; nil if it was enrolled without a PIN.
            let guessesLeft: Int?
            let pinLength: ClosedRange<Int>
        }

        /// Checks whether a key would open this secret now.
        private func inspect(_ form: StoredForm) async throws -> State {
            try await run(on: thread) { ring in
                let (device, key) = try ring.find(form.credentialID)
                return try ring.using(device) {
                    let guessesLeft = form.needsPIN ? try key.pinGuessesLeft() : nil
                    try Self.requireGuess(guessesLeft)
                    return State(guessesLeft: guessesLeft, pinLength: try key.abilities().pinLength)
                }
            }
        }

        /// Finds the key that can be enrolled.
        private func candidate() async throws -> KeyRing.Candidate {
            try await run(on: thread) { ring in
                let candidate = try ring.candidate()
                try Self.requireGuess(candidate.guessesLeft)
                return candidate
            }
        }

        private static func requireGuess(_ guessesLeft: Int?) throws {
            if guessesLeft == 0 { throw BiometricError(.lockedOut, BiometricError.blockedText) }
        }

        private func run<Answer: Sendable>(
            on thread: HardwareThread, _ body: @escaping @Sendable (KeyRing) throws -> Answer
        ) async throws -> Answer {
            // The library's limit is a little longer, so only `HardwareThread` reports a timeout.
            let libraryLimit = thread.limit + .seconds(5)
            return try await thread.converse { [devices, allowsTouchOnly] interruption, fido2 in
                do {
                    return try body(
                        KeyRing(
                            devices: devices, allowsTouchOnly: allowsTouchOnly, limit: libraryLimit,
                            interruption: interruption, fido2: fido2))
                } catch let failure as KeyFailure {
                    throw BiometricError(failure)
                }
            }
        }
    }
#endif
