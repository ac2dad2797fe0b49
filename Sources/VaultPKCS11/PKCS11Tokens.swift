#if PKCS11
    internal import VaultBiometric

    /// A token that is plugged in, as ``PKCS11Tokens/list(uri:timeLimit:clock:)`` finds it.
    public struct PKCS11Token: Sendable, Hashable {
        /// What names this token and no other (RFC 7512), for ``PKCS11Provider/init(uri:newKey:timeLimit:clock:)``.
        public let uri: String
        /// What its owner called it.
        public let label: String
        /// What its maker calls it.
        public let model: String
        /// The serial number that its maker gave it.
        public let serialNumber: String
        /// Whether it shows a key that is of a kind which can be used. A token may have such keys and not show them
        /// before the PIN is entered, and may not allow the one that it shows to be used for this.
        public let showsUsableKey: Bool
        /// Whether it calls itself a piece of hardware. What plays a token in software lets anybody guess PINs who can
        /// read its files. tpm2-pkcs11 calls the TPM a piece of hardware, which it is; that limits guesses only while the
        /// TPM has a lockout password. See ``PKCS11Provider/guessLimit()``.
        public let isHardware: Bool
        /// Whether it takes no PIN now.
        public let isLocked: Bool
    }

    /// The tokens that are plugged in.
    public enum PKCS11Tokens {
        /// Finds the tokens that could be used, without asking the person for anything.
        ///
        /// - Parameters:
        ///   - uri: which are meant, as in ``PKCS11Provider/init(uri:newKey:timeLimit:clock:)``. The modules stay those
        ///     of this URI: they are not part of the URIs in the list.
        ///   - timeLimit: how long the modules may take.
        ///   - clock: what the time limit is counted on.
        /// - Throws: ``BiometricError`` with code `unavailable` when there is no module, `timedOut` when one hangs.
        public static func list(
            uri: String = "pkcs11:", timeLimit: Duration = .seconds(60), clock: any Clock<Duration> = ContinuousClock()
        ) async throws -> [PKCS11Token] {
            try await HardwareThread.forToken(limit: timeLimit, clock: clock).run { isGivenUp in
                let connection = TokenConnection(uri)
                defer { connection.close() }
                do {
                    try connection.open(isGivenUp: isGivenUp)
                    return try connection.tokens().map(PKCS11Token.init)
                } catch let failure as TokenFailure {
                    throw BiometricError(failure)
                }
            }
        }
    }

    extension PKCS11Token {
        fileprivate init(_ token: Token) throws {
            uri = try TokenURI(naming: token.info).text
            label = token.identity.label
            model = token.identity.model
            serialNumber = token.identity.serial
            showsUsableKey = try token.withSession { try !$0.publicKeys(id: nil).isEmpty }
            isHardware = token.isHardware
            isLocked = token.isLocked
        }
    }
#endif
