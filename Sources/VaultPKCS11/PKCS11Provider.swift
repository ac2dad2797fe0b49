#if PKCS11
    internal import Foundation
    public import VaultBiometric
    public import VaultCrypto

    /// A provider that protects a secret with a key on a PKCS#11 token and its PIN: a YubiKey, a Nitrokey, a smart
    /// card, a TPM behind tpm2-pkcs11. The token counts wrong PINs itself.
    ///
    /// It uses an existing key that needs the PIN: RSA of at least 2048 bits that may decrypt, or a key on P-256, P-384
    /// or P-521 that may derive. Serial number and key identify the token, so no PIN goes to another one. Each
    /// enrolment is opened once as a test.
    ///
    /// The modules are p11-kit's, or the one in the URI. Modules run in this process, so take the URI only from a
    /// trusted source. A module has one login for the whole process: other uses of the same token in this process are
    /// logged out. Some modules write to stderr: ``silenceLibraries()`` reduces that for tpm2-pkcs11.
    public struct PKCS11Provider: BiometricProvider {
        /// The kind of keyslot that a token opens: `pkcs11`.
        public let kind = "pkcs11"
        /// True, although software tokens such as SoftHSM do not limit guesses: see ``guessLimit()``.
        public let limitsGuesses = true

        private let uri: String
        private let newKey: PKCS11KeyKind?
        private let thread: HardwareThread
        /// The time after which the person hears that the token may wait for a touch. No module reports that.
        private static let timeout = Duration.seconds(2)

        /// Makes a provider, without loading a module.
        ///
        /// - Parameters:
        ///   - uri: the allowed tokens (RFC 7512), for example `pkcs11:token=label`, and optionally the key (`object`
        ///     or `id`). `module-path` names a module's file, `module-name` one of p11-kit's modules. For opening a
        ///     secret, the stored identity selects one of these tokens.
        ///   - newKey: the kind of key to make if the token has no usable one; nil for none.
        ///   - timeLimit: the token's time limit before the question for the PIN, and again after it. It includes the
        ///     person's time at the token's keypad, and for a touch.
        ///   - clock: the clock that counts the time limit.
        public init(
            uri: String = "pkcs11:", newKey: PKCS11KeyKind? = nil, timeLimit: Duration = .seconds(60),
            clock: any Clock<Duration> = ContinuousClock()
        ) {
            self.uri = uri
            self.newKey = newKey
            thread = .forToken(limit: timeLimit, clock: clock)
        }

        /// Stops the warnings of tpm2-pkcs11 and all messages of the libraries below it on stderr. The module's errors
        /// still appear. It sets `TPM2_PKCS11_LOG_LEVEL` and `TSS2_LOG` unless they are set. Call it before the program
        /// has a second thread, as a later change of the environment is not safe.
        public static func silenceLibraries() {
            setenv("TPM2_PKCS11_LOG_LEVEL", "0", 0)
            setenv("TSS2_LOG", "all+none", 0)
        }

        /// Checks whether a token could open the secret now, or could be enrolled. It asks the person nothing.
        ///
        /// - Parameter protected: the secret; nil to ask whether a token could be enrolled.
        /// - Returns: `missing` also when another token is plugged in.
        public func availability(of protected: ProtectedSecret?) async -> BiometricAvailability {
            await .found {
                let form = try protected.map { try SealedForm($0.bytes) }
                try await run(on: TokenConnection(uri)) { connection in
                    defer { connection.close() }
                    _ = try form.map(connection.token) ?? connection.tokenToEnrol()
                }
            }
        }

        /// Checks whether the token to enrol limits a thief's guesses. The limit is `absent` for a software token. It
        /// is `weak` for a TPM behind tpm2-pkcs11, as PKCS#11 does not show its lockout password.
        public func guessLimit() async throws -> GuessLimit {
            try await run(on: TokenConnection(uri)) { connection in
                defer { connection.close() }
                return try connection.tokenToEnrol().guessLimit()
            }
        }

        /// Protects a secret with the token's PIN. A PIN of an impossible length is refused without a guess at the
        /// token.
        public func protect(
            _ secret: borrowing SecretBytes, prompt: any BiometricPrompt
        ) async throws -> ProtectedSecret {
            guard secret.count == 32 else { throw BiometricError(.failed, "The secret does not have 32 bytes.") }
            let secret = SharedSecret(try secret.copy())
            let connection = TokenConnection(uri)
            let ready = try await run(on: connection) { try TokenState($0.find($0.tokenToEnrol)) }
            let pin = try await pin(for: ready, from: prompt)
            let hint = touchHint(for: ready, by: prompt)
            defer { hint.cancel() }
            let form = try await run(on: connection) { [newKey] connection in
                defer { connection.close() }
                return try connection.useAgain(connection.tokenToEnrol) { token in
                    guard token.identity == ready.identity else {
                        throw BiometricError(
                            .hardwareReplaced,
                            "Another token, \"\(token.identity.name)\", replaced \"\(ready.identity.name)\".")
                    }
                    return try token.withLogin(pin, canWrite: newKey != nil) {
                        try $0.enrol(secret, id: connection.uri?.keyID, label: connection.uri?.keyLabel, newKey, pin)
                    }
                }
            }
            return ProtectedSecret(bytes: form.bytes, label: ready.identity.name)
        }

        /// Opens a secret. It asks the prompt for the PIN, or for its entry at the token's keypad. The token counts a
        /// wrong PIN.
        ///
        /// - Parameters:
        ///   - protected: the result of ``protect(_:prompt:)``.
        ///   - prompt: asks the person for the PIN, and tells of a touch.
        /// - Returns: the secret, 32 bytes.
        /// - Throws: ``BiometricError``: `wrongPIN`: ask again, see ``BiometricError/guessesLeft``. `lockedOut`: unlock
        ///   the token with its own tools, or use another method. `hardwareMissing`, `hardwareReplaced`: plug in the
        ///   enrolled token. `timedOut`: unplug the token and try again. `cancelled`: the person refused.
        ///   `unavailable`, `failed`: see the text. Errors of the prompt. `CancellationError` when the task is
        ///   cancelled.
        public func unprotect(
            _ protected: ProtectedSecret, prompt: any BiometricPrompt
        ) async throws -> SecretBytes {
            let form = try SealedForm(protected.bytes)
            let connection = TokenConnection(uri)
            let ready = try await run(on: connection) { connection in
                try TokenState(connection.find { try connection.token(of: form) })
            }
            let pin = try await pin(for: ready, from: prompt)
            let hint = touchHint(for: ready, by: prompt)
            defer { hint.cancel() }
            let secret = try await run(on: connection) { connection in
                defer { connection.close() }
                return try connection.useAgain(for: form) {
                    try connection.token(of: form)
                } _: { token in
                    try token.withLogin(pin) { SharedSecret(try $0.open(form, pin)) }
                }
            }
            return try secret.bytes.copy()
        }

        /// The facts for the question for the PIN.
        private struct TokenState: Sendable {
            let identity: TokenIdentity
            let request: PINRequest
            let pinLength: ClosedRange<Int>?
            let hasKeypad: Bool

            init(_ token: Token) {
                identity = token.identity
                request = token.request
                pinLength = token.pinLength
                hasKeypad = token.hasKeypad
            }
        }

        /// - Returns: nil if it is entered at the token.
        private func pin(for token: TokenState, from prompt: any BiometricPrompt) async throws -> SharedSecret? {
            if token.hasKeypad {
                let guesses = token.request.isFinal ? " This is the last guess." : ""
                await prompt.act("Enter the PIN of \"\(token.identity.name)\" at its keypad.\(guesses)")
                return nil
            }
            let pin = SharedSecret(try await prompt.pin(token.request))
            // A module treats an empty PIN as entry at the keypad.
            guard pin.bytes.count > 0 else { throw BiometricError(.failed, "The PIN is empty.") }
            if let length = token.pinLength, !length.contains(pin.bytes.count) {
                throw BiometricError(
                    .wrongPIN,
                    "The PIN of \"\(token.identity.name)\" has \(length.lowerBound) to \(length.upperBound) characters. "
                        + "This one was not tried.",
                    guessesLeft: token.request.guessesLeft)
            }
            return pin
        }

        /// Tells the person after a while that the token may wait for a touch.
        private func touchHint(for token: TokenState, by prompt: any BiometricPrompt) -> Task<Void, any Error> {
            Task { [clock = thread.clock] in
                // A person at the keypad already looks at the token.
                if token.hasKeypad { return }
                try await clock.sleep(for: Self.timeout)
                await prompt.act("If \"\(token.identity.name)\" blinks, touch it.")
            }
        }

        private func run<Answer: Sendable>(
            on connection: TokenConnection, _ body: @escaping @Sendable (TokenConnection) throws -> Answer
        ) async throws -> Answer {
            try await thread.run { isGivenUp in
                do {
                    try connection.open(isGivenUp: isGivenUp)
                    return try body(connection)
                } catch {
                    connection.close()
                    throw (error as? TokenFailure).map { BiometricError($0) } ?? error
                }
            }
        }
    }

    extension HardwareThread {
        static func forToken(limit: Duration, clock: any Clock<Duration>) -> HardwareThread {
            HardwareThread(
                limit: limit, clock: clock,
                late: "The token did not answer within \(limit.inWords). Unplug it, plug it in again, and try again.")
        }
    }
#endif
