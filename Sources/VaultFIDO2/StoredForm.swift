#if FIDO2
    internal import VaultBiometric
    internal import VaultCrypto

    /// The bytes of a ``ProtectedSecret``: what the key needs to compute its answer, and the secret, sealed under that.
    ///
    /// ```
    /// "CVFIDO2" ‖ version 1 ‖ PIN (1 byte: 0 or 1) ‖ salt (32 bytes) ‖ size of the id (2 bytes) ‖ credential id
    /// ‖ sealed secret ‖ checksum (32 bytes)
    /// ```
    /// The size stands the greater byte first.
    struct StoredForm: Sendable {
        /// Whether the key computes its answer for a PIN.
        let needsPIN: Bool
        /// What the key computes its answer from: 32 bytes.
        let salt: [UInt8]
        let credentialID: [UInt8]
        /// The secret as `SealedEnvelope` has it.
        let sealed: [UInt8]

        private static let start = Array("CVFIDO2".utf8) + [1]
        static let saltSize = 32

        static let damaged = BiometricError(
            .failed,
            "What was stored for the security key is damaged, or a newer version wrote it. Sign in another way, then "
                + "enrol the key anew.")

        init(needsPIN: Bool, salt: [UInt8], credentialID: [UInt8], sealed: [UInt8]) {
            self.needsPIN = needsPIN
            self.salt = salt
            self.credentialID = credentialID
            self.sealed = sealed
        }

        /// Seals a secret.
        ///
        /// - Parameter answer: what the key computed.
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
        /// - Parameter answer: what the key computed now.
        /// - Throws: ``BiometricError`` with code `failed` when it is another than when the secret was sealed.
        func open(under answer: borrowing SecretBytes) throws -> SecretBytes {
            let key = try Self.key(from: answer, credentialID)
            do {
                return try SealedEnvelope.open(sealed, key: key, context: Self.context)
            } catch let error as VaultCryptoError where error.code == .wrongKey {
                throw BiometricError(
                    .failed,
                    "The security key answered something else than when it was enrolled. Try again; if it lasts, sign "
                        + "in another way and enrol it anew.", underlying: error)
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
