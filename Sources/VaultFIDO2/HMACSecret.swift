#if FIDO2
    internal import CFIDO2
    internal import VaultBiometric
    internal import VaultCrypto

    /// A question to a key about a credential (CTAP 2.1 section 6.2, "authenticatorGetAssertion"). The answer is wiped
    /// at the end.
    struct Question: ~Copyable {
        let pointer: OpaquePointer
        private let fido2: LibFIDO2

        private init(_ fido2: LibFIDO2) throws(KeyFailure) {
            guard let pointer = fido2.fido_assert_new() else {
                throw KeyFailure(code: FIDO_ERR_INTERNAL, during: .preparing)
            }
            self.pointer = pointer
            self.fido2 = fido2
        }

        static func about(_ id: [UInt8], _ fido2: LibFIDO2) throws(KeyFailure) -> Question {
            let question = try Question(fido2)
            let challenge = KeyConnection.randomBytes()
            let status = [
                fido2.fido_assert_set_clientdata_hash(question.pointer, challenge, challenge.count),
                fido2.fido_assert_set_rp(question.pointer, Credential.party),
                fido2.fido_assert_allow_cred(question.pointer, id, id.count),
            ]
            for code in status { try KeyFailure.check(code, .preparing) }
            return question
        }

        deinit {
            var pointer: OpaquePointer? = pointer
            fido2.fido_assert_free(&pointer)
        }
    }

    extension KeyConnection {
        /// Lets the key compute HMAC-SHA-256 over a salt with the credential's secret value, which only the key knows
        /// (CTAP 2.1 section 12.5, "HMAC Secret Extension"). Waits for a touch.
        ///
        /// - Parameters:
        ///   - salt: 32 bytes.
        ///   - pin: the PIN; without it, the key computes another answer.
        ///   - publicKey: the key that verifies the answer; nil to leave the answer unverified.
        /// - Returns: 32 bytes.
        func secret(
            of id: [UInt8], salt: [UInt8], pin: KeyPIN?, provenBy publicKey: [UInt8]? = nil
        ) throws -> SecretBytes {
            let question = try Question.about(id, fido2)
            try KeyFailure.check(fido2.fido_assert_set_extensions(question.pointer, FIDO_EXT_HMAC_SECRET), .preparing)
            try KeyFailure.check(fido2.fido_assert_set_hmac_salt(question.pointer, salt, salt.count), .preparing)
            try KeyPIN.withCString(pin) { pin in
                try send(.answering) { fido2.fido_dev_get_assert($0, question.pointer, pin) }
            }
            guard fido2.fido_assert_count(question.pointer) == 1,
                let start = fido2.fido_assert_hmac_secret_ptr(question.pointer, 0),
                fido2.fido_assert_hmac_secret_len(question.pointer, 0) == 32
            else { throw KeyFailure(code: FIDO_ERR_INVALID_CBOR, during: .answering) }
            if let publicKey {
                if pin != nil {
                    try KeyFailure.check(fido2.fido_assert_set_uv(question.pointer, FIDO_OPT_TRUE), .preparing)
                }
                try verify(question, publicKey)
            }
            return try SecretBytes(copying: UnsafeRawBufferPointer(start: start, count: 32))
        }

        /// Checks that the key gives another answer, or none, without a PIN. CTAP 2.1 section 12.5 demands two random
        /// values, CredRandomWithUV and CredRandomWithoutUV.
        func requireAnother(
            than answer: borrowing SecretBytes, of id: [UInt8], salt: [UInt8]
        ) throws {
            do {
                let other = try secret(of: id, salt: salt, pin: nil)
                guard answer.isEqual(to: other) else { return }
            } catch let failure as KeyFailure where failure.isDemandForPIN {
                return
            }
            throw BiometricError(
                .unavailable,
                "The security key gives its secrets after a touch without the PIN. Use another one.")
        }

        /// Verifies the signature over the answer. The answer is encrypted without a checksum, and a secret must not be
        /// sealed under a damaged one.
        private func verify(_ question: borrowing Question, _ publicKey: [UInt8]) throws(KeyFailure) {
            var pointer = fido2.es256_pk_new()
            defer { fido2.es256_pk_free(&pointer) }
            guard let key = pointer else { throw KeyFailure(code: FIDO_ERR_INTERNAL, during: .verifying) }
            try KeyFailure.check(fido2.es256_pk_from_ptr(key, publicKey, publicKey.count), .verifying)
            try KeyFailure.check(
                fido2.fido_assert_verify(question.pointer, 0, COSE_ES256, UnsafeRawPointer(key)), .verifying)
        }
    }
#endif
