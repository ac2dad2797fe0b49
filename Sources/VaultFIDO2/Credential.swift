#if FIDO2
    internal import CFIDO2
    internal import VaultBiometric

    /// A key pair that a security key made for this vault. The private key and the base of the secrets never leave the
    /// security key.
    struct Credential: Sendable {
        /// The id by which the security key recognises the credential. The security key stores nothing.
        let id: [UInt8]
        /// The public key on the curve P-256, x and y.
        let publicKey: [UInt8]

        /// The purpose of the credentials ("relying party"). It is not an address, so no web page can ask for them.
        static let party = "credential-vault"
        /// The allowed size of an id in bytes, from WebAuthn.
        static let idSize = 1...1023
    }

    extension KeyConnection {
        /// Lets the key make a credential for computing secrets (CTAP 2.1 section 6.1, "authenticatorMakeCredential").
        /// Waits for a touch.
        ///
        /// - Parameter pin: the PIN; nil for a key without one.
        func makeCredential(pin: KeyPIN?) throws -> Credential {
            var pointer = fido2.fido_cred_new()
            defer { fido2.fido_cred_free(&pointer) }
            guard let credential = pointer else { throw KeyFailure(code: FIDO_ERR_INTERNAL, during: .preparing) }
            // A key keeps one credential for each user, so each user id is new.
            let (user, challenge) = (Self.randomBytes(), Self.randomBytes())
            try KeyFailure.check(fido2.fido_cred_set_type(credential, COSE_ES256), .preparing)
            try KeyFailure.check(
                fido2.fido_cred_set_clientdata_hash(credential, challenge, challenge.count), .preparing)
            try KeyFailure.check(fido2.fido_cred_set_rp(credential, Credential.party, "Credential Vault"), .preparing)
            try KeyFailure.check(
                fido2.fido_cred_set_user(credential, user, user.count, "vault", "Credential Vault", nil), .preparing)
            try KeyFailure.check(fido2.fido_cred_set_extensions(credential, FIDO_EXT_HMAC_SECRET), .preparing)
            try KeyPIN.withCString(pin) { pin in
                try send(.enrolling) { fido2.fido_dev_make_cred($0, credential, pin) }
            }
            let made = Credential(
                id: Self.bytes(fido2.fido_cred_id_ptr(credential), fido2.fido_cred_id_len(credential)),
                publicKey: Self.bytes(fido2.fido_cred_pubkey_ptr(credential), fido2.fido_cred_pubkey_len(credential)))
            guard Credential.idSize.contains(made.id.count), !made.publicKey.isEmpty else {
                throw KeyFailure(code: FIDO_ERR_INVALID_CBOR, during: .enrolling)
            }
            return made
        }

        /// Checks whether the credential belongs to this key, without a touch.
        func knows(_ id: [UInt8]) throws -> Bool {
            let question = try Question.about(id, fido2)
            try KeyFailure.check(fido2.fido_assert_set_up(question.pointer, FIDO_OPT_FALSE), .preparing)
            do {
                try send(.looking) { fido2.fido_dev_get_assert($0, question.pointer, nil) }
                return true
            } catch let failure as KeyFailure where failure.isAboutCredential {
                return false
            }
        }

        static func bytes(_ start: UnsafePointer<UInt8>?, _ count: Int) -> [UInt8] {
            start.map { Array(UnsafeBufferPointer(start: $0, count: count)) } ?? []
        }

        static func randomBytes() -> [UInt8] {
            var random = SystemRandomNumberGenerator()
            return (0..<32).map { _ in UInt8.random(in: .min ... .max, using: &random) }
        }
    }
#endif
