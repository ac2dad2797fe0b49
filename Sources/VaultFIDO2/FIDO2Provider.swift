#if FIDO2
    public import VaultBiometric
    public import VaultCrypto

    /// Protects a secret with a FIDO2 security key, its PIN and a touch. The key counts wrong PINs itself: usually it stops
    /// after 3 until it was unplugged, and for good after 8.
    ///
    /// The key makes a credential, and computes from a random salt what the secret is sealed under (the extension
    /// hmac-secret). It stores nothing. Nothing opens without the key and its PIN; a key that is reset loses it for ever.
    ///
    /// - Important: This has been run against security keys made of software, and the firmware of one in a simulation, through
    ///   libfido2. It has not been run on a real key yet.
    public struct FIDO2Provider: BiometricProvider {
        /// The kind of keyslot that a security key opens: `fido2`.
        public let kind = "fido2"

        /// Not when a key without a PIN serves: it has nothing to count.
        public var limitsGuesses: Bool { !allowsTouchOnly }

        private let devices: (any FIDO2Devices)?
        private let allowsTouchOnly: Bool
        /// For what needs no person.
        private let thread: HardwareThread
        /// For what waits for a touch.
        private let touchThread: HardwareThread

        /// Makes a provider. Nothing is opened yet.
        ///
        /// - Parameters:
        ///   - devices: where to look for keys; nil for those at this machine's USB.
        ///   - allowsTouchOnly: whether a key without a PIN may be enrolled. Then whoever has the key and a copy of the
        ///     disk has the secret: nothing but a touch is asked for. The same goes for a key that does not heed its PIN.
        ///     What was enrolled before keeps what it has.
        ///   - timeLimit: how long the key may take for what needs no person.
        ///   - touchLimit: how long the person may take to touch it. Most keys wait for 30 seconds at most.
        ///   - clock: what the limits are counted on.
        public init(
            devices: (any FIDO2Devices)? = nil, allowsTouchOnly: Bool = false, timeLimit: Duration = .seconds(15),
            touchLimit: Duration = .seconds(60), clock: any Clock<Duration> = ContinuousClock()
        ) {
            self.devices = devices
            self.allowsTouchOnly = allowsTouchOnly
            thread = HardwareThread(
                limit: timeLimit, clock: clock,
                late:
                    "The security key did not answer within \(timeLimit.inWords). Another program may be using it, or it "
                    + "hangs: unplug it and plug it in again.")
            touchThread = HardwareThread(
                limit: touchLimit, clock: clock,
                late: "The security key was not touched within \(touchLimit.inWords), or it hangs. Try again.")
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

        /// Enrols the one key that is plugged in. It has to be touched three times: to make the credential, to compute from
        /// it, and to show that without the PIN it computes something else. Keys older than CTAP 2.1 need not, and not
        /// every newer one does. Without a PIN, or where that is allowed, it is touched twice.
        public func protect(
            _ secret: borrowing SecretBytes, prompt: any BiometricPrompt
        ) async throws -> ProtectedSecret {
            guard secret.count == 32 else { throw BiometricError(.failed, "Only keys of 32 bytes are protected.") }
            let secret = try SecretBox(secret.copy())
            let candidate = try await candidate()
            let device = candidate.device
            let pin = try await pin(
                for: device.label, candidate.triesLeft, candidate.abilities.pinLength, prompt: prompt)

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
                    "Touch the security key (\(device.label)) once more: it has to show that its PIN counts.")
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

        /// Opens a secret. The prompt is asked for the PIN, unless the key was enrolled without one, and for one touch.
        /// A wrong PIN counts in the key.
        ///
        /// - Parameters:
        ///   - protected: the result of ``protect(_:prompt:)``.
        ///   - prompt: asks the person for the PIN and the touch.
        /// - Returns: the secret, 32 bytes.
        /// - Throws: ``BiometricError``: `wrongPIN`: ask again, see ``BiometricError/triesLeft``. `lockedOut`: unplug
        ///   the key, or use another way in. `hardwareMissing`, `hardwareReplaced`: plug in the enrolled key.
        ///   `timedOut`: try again. `cancelled`: the person refused. `unavailable`, `failed`: the text says why. Errors
        ///   of the prompt. `CancellationError` when the task is cancelled.
        public func unprotect(
            _ protected: ProtectedSecret, prompt: any BiometricPrompt
        ) async throws -> SecretBytes {
            let form = try StoredForm(protected.bytes)
            let state = try await inspect(form)
            let pin = try await pin(for: protected.label, state.triesLeft, state.pinLength, prompt: prompt)
            await prompt.act("Touch the security key (\(protected.label)).")
            return try await run(on: touchThread) { ring in
                // Found anew: another one may be in its place, and gets no PIN.
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
            for label: String, _ triesLeft: Int?, _ length: ClosedRange<Int>, prompt: any BiometricPrompt
        ) async throws -> KeyPIN? {
            guard let triesLeft else { return nil }
            let request = PINRequest(
                label: label, triesLeft: triesLeft, isLow: triesLeft < KeyPIN.tries, isFinal: triesLeft == 1,
                length: length)
            return try KeyPIN(try await prompt.pin(request), length: length)
        }

        /// What is known about an enrolled key without its PIN.
        private struct State: Sendable {
            /// nil where it was enrolled without a PIN.
            let triesLeft: Int?
            let pinLength: ClosedRange<Int>
        }

        /// Finds out whether a key would open this now.
        private func inspect(_ form: StoredForm) async throws -> State {
            try await run(on: thread) { ring in
                let (device, key) = try ring.find(form.credentialID)
                return try ring.using(device) {
                    let triesLeft = form.needsPIN ? try key.pinTriesLeft() : nil
                    try Self.requireTry(triesLeft)
                    return State(triesLeft: triesLeft, pinLength: try key.abilities().pinLength)
                }
            }
        }

        /// Finds the key that can be enrolled.
        private func candidate() async throws -> KeyRing.Candidate {
            try await run(on: thread) { ring in
                let candidate = try ring.candidate()
                try Self.requireTry(candidate.triesLeft)
                return candidate
            }
        }

        private static func requireTry(_ triesLeft: Int?) throws {
            if triesLeft == 0 { throw BiometricError(.lockedOut, BiometricError.blockedText) }
        }

        private func run<Answer: Sendable>(
            on thread: HardwareThread, _ body: @escaping @Sendable (KeyRing) throws -> Answer
        ) async throws -> Answer {
            // The library counts a little longer, so that there is one place that tells what took too long.
            let libraryLimit = thread.limit + .seconds(5)
            return try await thread.converse { [devices, allowsTouchOnly] interruption in
                do {
                    return try body(
                        KeyRing(
                            devices: devices, allowsTouchOnly: allowsTouchOnly, limit: libraryLimit,
                            interruption: interruption))
                } catch let failure as KeyFailure {
                    throw BiometricError(failure)
                }
            }
        }
    }
#endif
