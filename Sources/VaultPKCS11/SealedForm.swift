#if PKCS11
    internal import VaultBiometric
    internal import VaultCrypto

    /// The bytes of a ``ProtectedSecret``, for finding the token and its key, and for opening the secret.
    ///
    /// ```
    /// "CVPK11" ‖ version 1 ‖ manufacturer ‖ model ‖ serial number ‖ label ‖ slot ‖ CKA_ID ‖ fingerprint ‖ scheme ‖ message
    ///     ‖ envelope ‖ checksum (32 bytes)
    /// ```
    /// Each of the ten parts stands behind its length in two bytes, big-endian. All parts before the envelope go into
    /// the key of the envelope, so none of them can be replaced.
    struct SealedForm: Sendable {
        let token: TokenIdentity
        /// The name of the slot.
        let slotDescription: String
        let keyID: [UInt8]
        /// See ``PublicKey/fingerprint()``.
        let fingerprint: [UInt8]
        let scheme: KeyScheme
        /// The token's input for the key of the envelope.
        let message: [UInt8]
        private var envelope: [UInt8] = []

        private static let start = Array("CVPK11".utf8) + [1]
        private static let context = SealingContext(
            purpose: "credential-vault/v1/pkcs11", issuer: "", subject: "", id: "")

        static let damaged = BiometricError(
            .failed,
            "The stored data for the token is damaged, or from a newer version. Log in with another method, then enrol "
                + "the token again.")

        init(sealing secret: borrowing SecretBytes, for key: TokenKey, on token: Token, by scheme: KeyScheme) throws {
            let shared = try key.publicKey.share(by: scheme)
            self.token = token.identity
            slotDescription = token.slotDescription
            keyID = key.id
            fingerprint = key.fingerprint
            self.scheme = scheme
            message = shared.message
            let sealingKey = try sealingKey(from: shared.secret)
            envelope = try SealedEnvelope.seal(secret, key: sealingKey, context: Self.context)
        }

        /// Opens the secret.
        ///
        /// - Parameter shared: the token's result for the message.
        func open(_ shared: SharedSecret) throws -> SecretBytes {
            do {
                return try SealedEnvelope.open(envelope, key: sealingKey(from: shared), context: Self.context)
            } catch let error as VaultCryptoError where error.code != .outOfMemory {
                throw BiometricError.notOpened
            }
        }

        private func sealingKey(from shared: SharedSecret) throws -> SecretBytes {
            try KeyDerivation.hkdf(shared.bytes, salt: writer.bytes, info: "credential-vault/v1/pkcs11-sealing-key")
        }

        /// A writer that holds all parts before the envelope.
        private var writer: StoredBytesWriter {
            var writer = StoredBytesWriter(start: Self.start)
            for name in [token.manufacturer, token.model, token.serial, token.label, slotDescription] {
                writer.appendField(Array(name.utf8))
            }
            for field in [keyID, fingerprint, [scheme.rawValue], message] { writer.appendField(field) }
            return writer
        }

        var bytes: [UInt8] {
            var writer = writer
            writer.appendField(envelope)
            return writer.finished()
        }

        /// - Throws: ``damaged``.
        init(_ bytes: [UInt8]) throws(BiometricError) {
            var reader = try StoredBytesReader(bytes, start: Self.start, damaged: Self.damaged)
            var names: [String] = []
            for _ in 1...5 {
                guard let name = String(validating: try reader.readField(), as: UTF8.self) else { throw Self.damaged }
                names.append(name)
            }
            token = TokenIdentity(manufacturer: names[0], model: names[1], serial: names[2], label: names[3])
            slotDescription = names[4]
            keyID = try reader.readField()
            fingerprint = try reader.readField()
            let number = try reader.readField()
            message = try reader.readField()
            envelope = try reader.readField()
            guard reader.isAtEnd, number.count == 1, let scheme = KeyScheme(rawValue: number[0]) else {
                throw Self.damaged
            }
            self.scheme = scheme
        }
    }
#endif
