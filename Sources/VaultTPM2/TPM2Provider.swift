#if TPM2
    internal import Foundation
    public import VaultBiometric
    public import VaultCrypto

    /// A provider that protects a secret with the machine's TPM 2.0 and a PIN. The TPM counts wrong PINs itself. See
    /// ``guessLimit()`` for the strength of that limit.
    ///
    /// The secret is sealed under the TPM's storage root key. That is the owner's key at 0x81000001, or a key that the
    /// TPM derives from the TCG's template; the derivation needs an owner without a password. Only this TPM opens the
    /// secret, with the PIN, until the TPM is cleared. With `pcrs`, the machine must also have started in the same way.
    /// The secret and the PIN cross the bus encrypted to a key of the TPM that was stored at enrolment. An attacker who
    /// replaces the TPM on the bus during enrolment can replace that key, too.
    ///
    /// The libraries of tpm2-tss write messages about a wrong PIN or a missing TPM to stderr. To prevent that, call
    /// ``silenceLibraries()`` at the start, or start the program with `TSS2_LOG=all+none`.
    public struct TPM2Provider: BiometricProvider {
        /// The kind of keyslot that a TPM opens: `tpm2`.
        public let kind = "tpm2"
        /// True: a TPM counts wrong PINs. ``guessLimit()`` tells whether this TPM is set up so that the count is a
        /// limit.
        public let limitsGuesses = true

        private let tcti: String
        private let pcrs: [Int]
        private let thread: HardwareThread

        /// Makes a provider, without a connection to the TPM.
        ///
        /// - Parameters:
        ///   - tcti: the way to the TPM, as for the tools of tpm2-tss: `device:/dev/tpmrm0`,
        ///     `swtpm:host=127.0.0.1,port=2321`. Its library must be installed.
        ///   - pcrs: the platform configuration registers, 0 to 23 of the SHA-256 bank, that must keep their values
        ///     from the enrolment. Register 7, for example, changes when Secure Boot is turned off. Empty for no
        ///     condition. Earlier secrets keep their own condition.
        ///   - timeLimit: the TPM's time limit before the question for the PIN, and again after it.
        ///   - clock: the clock that counts the time limit.
        public init(
            tcti: String = "device:/dev/tpmrm0", pcrs: [Int] = [], timeLimit: Duration = .seconds(15),
            clock: any Clock<Duration> = ContinuousClock()
        ) {
            self.tcti = tcti
            self.pcrs = Set(pcrs).sorted()
            thread = HardwareThread(
                limit: timeLimit, clock: clock,
                late:
                    "The TPM did not answer within \(timeLimit.inWords). Try again, or restart the machine.")
        }

        /// Stops the libraries from writing to stderr, by setting the variable `TSS2_LOG` if it is not set. Call it
        /// before the program has a second thread, as a later change of the environment is not safe.
        public static func silenceLibraries() {
            setenv("TSS2_LOG", "all+none", 0)
        }

        /// Checks whether the TPM could open the secret now, or seal a new one. It asks the person nothing.
        ///
        /// - Parameter protected: the secret; nil to ask whether a new secret could be sealed.
        /// - Returns: `missing` also when this is another TPM; `lockedOut` after too many wrong PINs; `unusable` also
        ///   when the machine started in another way than at enrolment.
        public func availability(of protected: ProtectedSecret?) async -> BiometricAvailability {
            await .found { _ = try await inspect(protected.map { try SealedForm($0.bytes) }) }
        }

        /// Checks whether the TPM limits a thief's guesses. The limit is `weak` without a lockout password, as on most
        /// machines: then every program on the machine can reset the count of wrong PINs.
        public func guessLimit() async throws -> GuessLimit {
            try await connected { try $0.guessCount().limit }
        }

        /// Seals a secret with a new PIN. It calls the prompt once, so the prompt must ask for the PIN twice, or check
        /// it in another way.
        public func protect(
            _ secret: borrowing SecretBytes, prompt: any BiometricPrompt
        ) async throws -> ProtectedSecret {
            guard secret.count == 32 else { throw BiometricError(.failed, "The secret does not have 32 bytes.") }
            let secret = try SecretBox(secret.copy())
            let state = try await inspect(nil)
            let pin = SecretBox(try await prompt.pin(PINRequest(label: state.model)))
            let form = try await connected { [pcrs] tpm in
                let auth = try AuthValue.of(pin: pin.take())
                let policy = pcrs.isEmpty ? nil : try tpm.pcrPolicy(of: pcrs)
                let key = try tpm.storageKey()
                let object = try tpm.seal(secret.take(), auth: auth, under: key, policy: policy)
                return SealedForm(keyName: key.name, object: object, policy: policy)
            }
            return ProtectedSecret(bytes: form.bytes, label: state.model)
        }

        /// Opens a secret. It asks the prompt for the PIN. The TPM counts a wrong PIN.
        ///
        /// - Parameters:
        ///   - protected: the result of ``protect(_:prompt:)``.
        ///   - prompt: asks the person for the PIN.
        /// - Returns: the secret, 32 bytes.
        /// - Throws: ``BiometricError``: `wrongPIN`: ask again, see ``BiometricError/guessesLeft``. `lockedOut`: wait
        ///   for ``BiometricError/endsAfter``, or use another method. `hardwareMissing`: the TPM is not there.
        ///   `hardwareReplaced`: this is another TPM, or it was cleared; log in with another method and enrol again.
        ///   `timedOut`: try again. `unavailable`, `failed`: see the text. Errors of the prompt. `CancellationError`
        ///   when the task is cancelled.
        public func unprotect(
            _ protected: ProtectedSecret, prompt: any BiometricPrompt
        ) async throws -> SecretBytes {
            let form = try SealedForm(protected.bytes)
            let state = try await inspect(form, willOpen: true)
            let guesses = state.guesses
            let request = PINRequest(
                label: protected.label, guessesLeft: guesses.guessesLeft, isLow: guesses.failures > 0,
                isFinal: guesses.guessesLeft == 1)
            let pin = SecretBox(try await prompt.pin(request))
            let secret = try await connected { tpm in
                let auth = try AuthValue.of(pin: pin.take())
                let key = try tpm.storageKey(named: form.keyName, saved: state.key)
                do {
                    return SecretBox(try tpm.unseal(form.object, auth: auth, under: key, policy: form.policy))
                } catch let failure as TPMFailure {
                    throw try tpm.reason(for: failure, to: form)
                }
            }
            return try secret.take()
        }

        /// The facts that are known without a PIN.
        private struct State: Sendable {
            let guesses: GuessCount
            let model: String
            /// See ``TPMConnection/save(_:)``.
            var key: [UInt8]?
        }

        /// Checks whether the TPM would accept a PIN now.
        ///
        /// - Parameters:
        ///   - form: the sealed form; nil for a new secret.
        private func inspect(_ form: SealedForm?, willOpen: Bool = false) async throws -> State {
            guard form != nil || pcrs.allSatisfy(PCRPolicy.registers.contains) else {
                throw BiometricError(.failed, "A TPM has PCRs 0 to 23, and \(pcrs) is not all among them.")
            }
            return try await connected { [pcrs] tpm in
                let guesses = try tpm.guessCount()
                // Refusing to open an existing secret would not make it safer.
                if form == nil, case .absent(let reason) = guesses.limit { throw BiometricError(.unavailable, reason) }
                let key = try tpm.storageKey(named: form?.keyName)
                if guesses.isLocked { throw guesses.lockedOut() }
                if let form {
                    if let change = try tpm.change(since: form.policy) { throw change }
                } else {
                    _ = try tpm.pcrPolicy(of: pcrs)
                }
                return State(
                    guesses: guesses, model: form == nil ? try tpm.model() : "",
                    key: willOpen ? try tpm.save(key) : nil)
            }
        }

        private func connected<Answer: Sendable>(
            _ body: @escaping @Sendable (TPMConnection) throws -> Answer
        ) async throws -> Answer {
            try await thread.run { [tcti] isGivenUp in
                do {
                    return try body(TPMConnection(tcti, isGivenUp: isGivenUp))
                } catch let failure as TPMFailure {
                    throw BiometricError(failure)
                }
            }
        }
    }

    extension TPMConnection {
        /// Returns the reason why the TPM did not unseal.
        fileprivate func reason(for failure: TPMFailure, to form: SealedForm) throws -> any Error {
            switch (failure.command, failure.response) {
            case (.unsealing, .wrongAuthorization), (.unsealing, .wrongAuthorizationUncounted):
                let guesses = try guessCount()
                if guesses.isLocked { return guesses.lockedOut("The PIN is wrong. ") }
                return BiometricError(.wrongPIN, "The PIN is wrong.", guessesLeft: guesses.guessesLeft)
            case (_, .lockedOut):
                return try guessCount().lockedOut()
            case (.unsealing, .policyNotMet), (.unsealing, .pcrChanged):
                return try change(since: form.policy) ?? SealedForm.damaged
            case (.loading, _) where failure.isAboutParameter:
                return SealedForm.damaged
            default:
                return failure
            }
        }
    }
#endif
