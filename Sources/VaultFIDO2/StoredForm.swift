#if FIDO2
    internal import VaultBiometric
    internal import VaultCrypto

    /// The bytes of a ``ProtectedSecret``: the key's input for its answer, and the secret, sealed under the answer.
    ///
    /// ```
    /// "CVFIDO2" ‖ version 1 ‖ PIN (1 byte: 0 or 1) ‖ salt (32 bytes) ‖ size of the id (2 bytes) ‖ credential id
    /// ‖ sealed secret ‖ checksum (32 bytes)
    /// ```
    /// The size is big-endian.
    struct StoredForm: Sendable {
        /// Whether the key's answer needs the PIN.
        let needsPIN: Bool
        /// The input for the key's answer: 32 bytes.
        let salt: [UInt8]
        let credentialID: [UInt8]
        /// The secret in a `SealedEnvelope`.
        let sealed: [UInt8]

        private static let start = Array("CVFIDO2".utf8) + [1]
        static let saltSize = 32

        static let damaged = BiometricError(
            .failed,
            "The stored data for the security key is damaged, or from a newer version. Log in with another method, "
                + "then enrol the key again.")

        init(needsPIN: Bool, salt: [UInt8], credentialID: [UInt8], sealed: [UInt8]) {
            self.needsPIN = needsPIN
            self.salt = salt
            self.credentialID = credentialID
            self.sealed = sealed
        }

        /// Seals a secret.
        init(
            sealing secret: borrowing SecretBytes, under answer: borrowing SecretBytes, credentialID: [UInt8],
            salt: [UInt8], needsPIN: Bool
        ) throws {
            let key = try Self.key(from: answer, credentialID)
            self.init(
                needsPIN: needsPIN, salt: salt, credentialID: credentialID,
                sealed: try SealedEnvelope.seal(secret, key: key, context: Self.context))
        }

        /// Opens the secret.
        ///
        /// - Parameter answer: the key's answer now.
        /// - Throws: ``BiometricError`` with code `failed` if the answer differs from the one at the sealing.
        func open(under answer: borrowing SecretBytes) throws -> SecretBytes {
            let key = try Self.key(from: answer, credentialID)
            do {
                return try SealedEnvelope.open(sealed, key: key, context: Self.context)
            } catch let error as VaultCryptoError where error.code == .wrongKey {
                throw BiometricError(
                    .failed,
                    "The security key gave another answer than at enrolment. Try again. If that does not help, log "
                        + "in with another method and enrol it again.", underlying: error)
            } catch let error as VaultCryptoError where error.code == .malformedEnvelope {
                throw Self.damaged
            }
        }

        private static func key(
            from answer: borrowing SecretBytes, _ credentialID: [UInt8]
        ) throws -> SecretBytes {
            try KeyDerivation.hkdf(answer, salt: credentialID, info: "credential-vault/v1/fido2-key")
        }

        private static let context = SealingContext(
            purpose: "credential-vault/v1/fido2-secret", issuer: "", subject: "", id: "")

        var bytes: [UInt8] {
            var writer = StoredBytesWriter(start: Self.start)
            writer.append([needsPIN ? 1 : 0] + salt)
            writer.appendField(credentialID)
            writer.append(sealed)
            return writer.finished()
        }

        /// - Throws: ``damaged``.
        init(_ bytes: [UInt8]) throws(BiometricError) {
            var reader = try StoredBytesReader(bytes, start: Self.start, damaged: Self.damaged)
            let flag = try reader.read(1)[0]
            salt = try reader.read(Self.saltSize)
            credentialID = try reader.readField()
            sealed = reader.readRest()
            guard flag <= 1, Credential.idSize.contains(credentialID.count) else { throw Self.damaged }
            needsPIN = flag == 1
        }
    }
#endif
