#if PKCS11
    internal import VaultBiometric

    /// A plugged-in token from ``PKCS11Tokens/list(uri:timeLimit:clock:)``.
    public struct PKCS11Token: Sendable, Hashable {
        /// The URI of exactly this token (RFC 7512), for ``PKCS11Provider/init(uri:newKey:timeLimit:clock:)``.
        public let uri: String
        /// The owner's name for the token.
        public let label: String
        /// The maker's name for the token.
        public let model: String
        /// The serial number that its maker gave it.
        public let serialNumber: String
        /// Whether it shows a key of a usable kind. A token may hide such keys until the PIN is entered, and may forbid
        /// this use of a visible one.
        public let showsUsableKey: Bool
        /// Whether it calls itself hardware. With a software token, a thief who can read its files can guess PINs
        /// without limit. A TPM behind tpm2-pkcs11 is hardware, but limits guesses only while it has a lockout
        /// password. See ``PKCS11Provider/guessLimit()``.
        public let isHardware: Bool
        /// Whether it accepts no PIN now.
        public let isLocked: Bool
    }

    /// The list of plugged-in tokens.
    public enum PKCS11Tokens {
        /// Finds the usable tokens, without a question to the person.
        ///
        /// - Parameters:
        ///   - uri: the allowed tokens, as in ``PKCS11Provider/init(uri:newKey:timeLimit:clock:)``. The URIs in the
        ///     list do not name the modules of this URI.
        ///   - timeLimit: the time limit of the modules.
        ///   - clock: the clock that counts the time limit.
        /// - Throws: ``BiometricError`` with code `unavailable` if there is no module, `timedOut` if a module hangs.
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
