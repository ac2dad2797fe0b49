#if TPM2
    internal import Foundation
    public import VaultBiometric
    public import VaultCrypto

    /// Protects a secret with the machine's TPM 2.0 and a PIN. The TPM counts wrong PINs itself; how much that is worth,
    /// ``guessLimit()`` tells.
    ///
    /// The secret is sealed under the TPM's storage root key: the key that the owner put at 0x81000001, or else the one
    /// that the TPM derives from the TCG's template, which needs an owner without a password. It can be opened only by
    /// this TPM, until it is cleared, with the PIN, and, if asked for, only while the machine has started as it did. The
    /// secret, the PIN and what is made of it cross the bus encrypted to a key of the TPM that was remembered when it was
    /// enrolled. At enrolment itself, whoever could replace the TPM on the bus could replace that key, too.
    ///
    /// The libraries of tpm2-tss write to stderr what they think of a wrong PIN or a TPM that is missing. A program that
    /// wants it quiet calls ``silenceLibraries()`` when it starts, or is started with `TSS2_LOG=all+none`.
    public struct TPM2Provider: BiometricProvider {
        /// The kind of keyslot that a TPM opens: `tpm2`.
        public let kind = "tpm2"
        /// True: a TPM counts wrong PINs. ``guessLimit()`` tells whether this TPM is set up so that the count is a
        /// limit.
        public let limitsGuesses = true

        private let tcti: String
        private let pcrs: [Int]
        private let thread: HardwareThread

        /// Makes a provider. Nothing is opened yet.
        ///
        /// - Parameters:
        ///   - tcti: how to reach the TPM, as the tools of tpm2-tss take it: `device:/dev/tpmrm0`,
        ///     `swtpm:host=127.0.0.1,port=2321`. The library for it has to be installed.
        ///   - pcrs: the platform configuration registers, 0 to 23 of the SHA-256 bank, that must have the values which
        ///     they have when a secret is protected. 7, for example, changes when Secure Boot is turned off. Empty for no
        ///     condition. What was protected before keeps its own.
        ///   - timeLimit: how long the TPM may take before the PIN is asked for, and again after it.
        ///   - clock: what the time limit is counted on.
        public init(
            tcti: String = "device:/dev/tpmrm0", pcrs: [Int] = [], timeLimit: Duration = .seconds(15),
            clock: any Clock<Duration> = ContinuousClock()
        ) {
            self.tcti = tcti
            self.pcrs = Set(pcrs).sorted()
            thread = HardwareThread(
                limit: timeLimit, clock: clock,
                late:
                    "The TPM did not answer within \(timeLimit.inWords). Try again; if it lasts, restart the machine.")
        }

        /// Stops the libraries from writing to stderr, unless the variable `TSS2_LOG` is set already, which this sets. Call
        /// it before the program has a second thread: changing the environment is not safe later.
        public static func silenceLibraries() {
            setenv("TSS2_LOG", "all+none", 0)
        }

        /// Looks whether the TPM could open the secret now, or could seal a new one. It asks the person for nothing.
        ///
        /// - Parameter protected: the secret; nil to ask whether a new secret could be sealed.
        /// - Returns: `missing` also when this is another TPM; `lockedOut` after too many wrong PINs; `unusable` also
        ///   when the machine started in another way than at enrolment.
        public func availability(of protected: ProtectedSecret?) async -> BiometricAvailability {
            await .found { _ = try await inspect(protected.map { try SealedForm($0.bytes) }) }
        }

        /// Whether the TPM limits the guesses of somebody who has the machine. `weak` while it has no lockout password, as
        /// most have none: then every program on the machine can set the count of wrong PINs back.
        public func guessLimit() async throws -> GuessLimit {
            try await connected { try $0.guessCount().limit }
        }

        /// Seals a secret with a PIN that is chosen now: the prompt is asked once, so it has to make sure that the person
        /// typed what they meant.
        public func protect(
            _ secret: borrowing SecretBytes, prompt: any BiometricPrompt
        ) async throws -> ProtectedSecret {
            guard secret.count == 32 else { throw BiometricError(.failed, "Only keys of 32 bytes are sealed.") }
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

        /// Opens a secret. The prompt is asked for the PIN. A wrong PIN counts in the TPM.
        ///
        /// - Parameters:
        ///   - protected: the result of ``protect(_:prompt:)``.
        ///   - prompt: asks the person for the PIN.
        /// - Returns: the secret, 32 bytes.
        /// - Throws: ``BiometricError``: `wrongPIN`: ask again, see ``BiometricError/triesLeft``. `lockedOut`: wait for
        ///   ``BiometricError/endsAfter``, or use another way in. `hardwareMissing`: the TPM is not there.
        ///   `hardwareReplaced`: this is another TPM, or it was cleared; sign in another way and enrol again.
        ///   `timedOut`: try again. `unavailable`, `failed`: the text says why. Errors of the prompt.
        ///   `CancellationError` when the task is cancelled.
        public func unprotect(
            _ protected: ProtectedSecret, prompt: any BiometricPrompt
        ) async throws -> SecretBytes {
            let form = try SealedForm(protected.bytes)
            let state = try await inspect(form, willOpen: true)
            let guesses = state.guesses
            let request = PINRequest(
                label: protected.label, triesLeft: guesses.triesLeft, isLow: guesses.failures > 0,
                isFinal: guesses.triesLeft == 1)
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

        /// What can be known without a PIN.
        private struct State: Sendable {
            let guesses: GuessCount
            let model: String
            /// See ``TPMConnection/save(_:)``.
            var key: [UInt8]?
        }

        /// Finds out whether the TPM would take a PIN for this now.
        ///
        /// - Parameters:
        ///   - form: nil for something new.
        ///   - willOpen: whether it is to be opened next.
        private func inspect(_ form: SealedForm?, willOpen: Bool = false) async throws -> State {
            guard form != nil || pcrs.allSatisfy(PCRPolicy.registers.contains) else {
                throw BiometricError(.failed, "A TPM has PCRs 0 to 23, and \(pcrs) is not all among them.")
            }
            return try await connected { [pcrs] tpm in
                let guesses = try tpm.guessCount()
                // What is protected already is no safer while it stays shut.
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
        /// Why the TPM did not unseal.
        fileprivate func reason(for failure: TPMFailure, to form: SealedForm) throws -> any Error {
            switch (failure.command, failure.response) {
            case (.unsealing, .wrongAuthorization), (.unsealing, .wrongAuthorizationUncounted):
                let guesses = try guessCount()
                if guesses.isLocked { return guesses.lockedOut("The PIN is wrong. ") }
                return BiometricError(.wrongPIN, "The PIN is wrong.", triesLeft: guesses.triesLeft)
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
