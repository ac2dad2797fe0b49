#if PKCS11
    internal import Foundation
    public import VaultBiometric
    public import VaultCrypto

    /// Protects a secret with a key on a PKCS#11 token and its PIN: a YubiKey, a Nitrokey, a smart card, a TPM behind
    /// tpm2-pkcs11. The token counts wrong PINs itself.
    ///
    /// A key that is on the token already is used: RSA of at least 2048 bits that may decrypt, or one on P-256, P-384 or
    /// P-521 that may derive, if it cannot be used without the PIN. The token is found again by its serial number and by
    /// the key, so that no PIN goes to another one. What is enrolled has been opened once before it is handed out.
    ///
    /// The modules are those that p11-kit knows, or the one that the URI names. They are code that runs in this process,
    /// so the URI has to come from somebody who may choose that. A program that uses the same token through the same
    /// module at the same time is logged out of it, as a module knows one login for a whole process. Some modules write to
    /// stderr: ``silenceLibraries()`` makes that of tpm2-pkcs11 as quiet as it can be.
    public struct PKCS11Provider: BiometricProvider {
        /// The kind of keyslot that a token opens: `pkcs11`.
        public let kind = "pkcs11"
        /// What plays a token in software, as SoftHSM does, does not: ``guessLimit()`` tells.
        public let limitsGuesses = true

        private let uri: String
        private let newKey: PKCS11KeyKind?
        private let thread: HardwareThread
        /// After how long the person is told that the token may be waiting: no module tells when it does.
        private static let patience = Duration.seconds(2)

        /// Makes a provider. Nothing is loaded yet.
        ///
        /// - Parameters:
        ///   - uri: which tokens are meant (RFC 7512), `pkcs11:token=label` for example, and which key on them, if that
        ///     matters (`object` or `id`). `module-path` names a module's file, `module-name` one of p11-kit's modules.
        ///     When a secret is opened, the token is found by what was remembered, among those that the URI means.
        ///   - newKey: the kind of key to make when a secret is to be protected and the token has none for it.
        ///   - timeLimit: how long the token may take before the PIN is asked for, and again after it. It includes
        ///     the time in which a person types at the token's keypad or touches it.
        ///   - clock: what the time limit is counted on.
        public init(
            uri: String = "pkcs11:", newKey: PKCS11KeyKind? = nil, timeLimit: Duration = .seconds(60),
            clock: any Clock<Duration> = ContinuousClock()
        ) {
            self.uri = uri
            self.newKey = newKey
            thread = .forToken(limit: timeLimit, clock: clock)
        }

        /// Stops tpm2-pkcs11 from writing warnings to stderr, and the libraries below it from writing anything, unless
        /// `TPM2_PKCS11_LOG_LEVEL` and `TSS2_LOG` are set already, which this sets. What the module calls an error it
        /// writes all the same. Call it before the program has a second thread: changing the environment is not safe
        /// later.
        public static func silenceLibraries() {
            setenv("TPM2_PKCS11_LOG_LEVEL", "0", 0)
            setenv("TSS2_LOG", "all+none", 0)
        }

        /// Looks whether a token could open the secret now, or could be enrolled. It asks the person for nothing.
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

        /// Whether the token that would be enrolled limits the guesses of somebody who has it. `absent` when it is made of
        /// software; `weak` for a TPM behind tpm2-pkcs11, whose lockout password cannot be seen from here.
        public func guessLimit() async throws -> GuessLimit {
            try await run(on: TokenConnection(uri)) { connection in
                defer { connection.close() }
                return try connection.tokenToEnrol().guessLimit()
            }
        }

        /// Protects a secret with the PIN that the token has. It is refused where the token tells that none of its PINs is
        /// as short or as long, which costs no try.
        public func protect(
            _ secret: borrowing SecretBytes, prompt: any BiometricPrompt
        ) async throws -> ProtectedSecret {
            guard secret.count == 32 else { throw BiometricError(.failed, "Only keys of 32 bytes are protected.") }
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
                            "\"\(token.identity.name)\" was put in the place of \"\(ready.identity.name)\".")
                    }
                    return try token.withLogin(pin, canWrite: newKey != nil) {
                        try $0.enrol(secret, id: connection.uri?.keyID, label: connection.uri?.keyLabel, newKey, pin)
                    }
                }
            }
            return ProtectedSecret(bytes: form.bytes, label: ready.identity.name)
        }

        /// Opens a secret. The prompt is asked for the PIN, or tells the person to enter it at the keypad of the token.
        /// A wrong PIN counts in the token.
        ///
        /// - Parameters:
        ///   - protected: the result of ``protect(_:prompt:)``.
        ///   - prompt: asks the person for the PIN, and tells of a touch.
        /// - Returns: the secret, 32 bytes.
        /// - Throws: ``BiometricError``: `wrongPIN`: ask again, see ``BiometricError/triesLeft``. `lockedOut`: unlock
        ///   the token with its own tools, or use another way in. `hardwareMissing`, `hardwareReplaced`: plug in the
        ///   enrolled token. `timedOut`: unplug the token and try again. `cancelled`: the person refused.
        ///   `unavailable`, `failed`: the text says why. Errors of the prompt. `CancellationError` when the task is
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

        /// What has to be known to ask for the PIN.
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

        /// - Returns: nil when it is entered at the token.
        private func pin(for token: TokenState, from prompt: any BiometricPrompt) async throws -> SharedSecret? {
            if token.hasKeypad {
                let tries = token.request.isFinal ? " This is the last try." : ""
                await prompt.act("Enter the PIN of \"\(token.identity.name)\" at its keypad.\(tries)")
                return nil
            }
            let pin = SharedSecret(try await prompt.pin(token.request))
            // No PIN at all means the keypad to a module.
            guard pin.bytes.count > 0 else { throw BiometricError(.failed, "The PIN is empty.") }
            if let length = token.pinLength, !length.contains(pin.bytes.count) {
                throw BiometricError(
                    .wrongPIN,
                    "The PIN of \"\(token.identity.name)\" has \(length.lowerBound) to \(length.upperBound) characters. "
                        + "This one was not tried.",
                    triesLeft: token.request.triesLeft)
            }
            return pin
        }

        /// Tells the person after a while that the token may wait to be touched.
        private func touchHint(for token: TokenState, by prompt: any BiometricPrompt) -> Task<Void, any Error> {
            Task { [clock = thread.clock] in
                // Whoever was sent to the keypad looks at the token anyway.
                if token.hasKeypad { return }
                try await clock.sleep(for: Self.patience)
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
