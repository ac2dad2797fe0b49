#if PKCS11
    internal import CPKCS11
    internal import VaultBiometric
    internal import VaultCrypto

    extension TokenSession {
        /// Seals a secret for the first usable key.
        ///
        /// - Parameters:
        ///   - id: the CKA_ID of the key; nil for any.
        ///   - label: the CKA_LABEL of the key; nil for any.
        ///   - newKey: the kind of key to make if there is no such key; nil for none.
        func enrol(
            _ secret: SharedSecret, id: [UInt8]?, label: [UInt8]?, _ newKey: PKCS11KeyKind?, _ pin: SharedSecret?
        ) throws -> SealedForm {
            for key in try keys(id: id, label: label) {
                if let form = try form(for: secret, with: key, pin) { return form }
            }
            guard let newKey else {
                throw BiometricError(
                    .keyMissing,
                    "\"\(token.identity.name)\" has no key\(id == nil && label == nil ? "" : " of that name") that is "
                        + "usable: RSA of at least 2048 bits that may decrypt, or a key on P-256, P-384 or P-521 that "
                        + "may derive, and that wants the PIN. Make a key."
                )
            }
            let made = try makeKey(newKey)
            do {
                for key in try keys(id: made.id) {
                    if let form = try form(for: secret, with: key, pin) { return form }
                }
                throw BiometricError(
                    .unavailable,
                    "\"\(token.identity.name)\" made a key that it cannot use. Choose the other kind of key.")
            } catch {
                for handle in made.handles { destroy(handle) }
                throw error
            }
        }

        /// - Returns: nil if the token cannot open it with this key.
        private func form(for secret: SharedSecret, with key: TokenKey, _ pin: SharedSecret?) throws -> SealedForm? {
            for scheme in key.publicKey.schemes {
                let form = try SealedForm(sealing: secret.bytes, for: key, on: token, by: scheme)
                do {
                    let opened = try form.open(
                        self.secret(form.message, scheme, with: key.handle, wantsPIN: key.wantsPIN, pin))
                    if opened.isEqual(to: secret.bytes) { return form }
                } catch let failure as TokenFailure where failure.call == .decrypting || failure.call == .deriving {
                    try checkPresence()
                } catch let error as BiometricError where error.code == .failed {
                    try checkPresence()
                }
            }
            return nil
        }

        func open(_ form: SealedForm, _ pin: SharedSecret?) throws -> SecretBytes {
            let handles = try privateKeys(id: form.keyID)
            guard handles.count == 1 else {
                let key = try key(of: form)
                return try form.open(
                    secret(form.message, form.scheme, with: key.handle, wantsPIN: key.wantsPIN, pin))
            }
            // Tokens are slow to read the attributes of a private key. The only key with the id is the right one,
            // unless it fails.
            do {
                return try form.open(
                    secret(form.message, form.scheme, with: handles[0], wantsPIN: wantsPIN(handles[0]), pin))
            } catch {
                if Self.isOfKey(error) {
                    // The session has already failed, so a second failure is not reported.
                    do { _ = try key(of: form) } catch is TokenFailure {}
                }
                throw error
            }
        }

        /// - Throws: `hardwareReplaced` if the key is missing.
        private func key(of form: SealedForm) throws -> TokenKey {
            let keys = try keys(id: form.keyID)
            guard let key = keys.first(where: { $0.fingerprint == form.fingerprint }) else {
                throw BiometricError.keyGone(token.identity)
            }
            return key
        }

        /// Whether the failure comes from the key itself, so that another key may work.
        private static func isOfKey(_ error: any Error) -> Bool {
            switch error {
            case let failure as TokenFailure:
                [.decrypting, .deriving].contains(failure.call) && !failure.isRemoval && !failure.isCancellation
            case let error as BiometricError: error.code == .failed
            default: false
            }
        }

        /// - Throws: ``TokenFailure`` if the token is gone.
        private func checkPresence() throws {
            if try !token.isThere() { throw TokenFailure(code: CKR_TOKEN_NOT_PRESENT, during: .decrypting) }
        }
    }
#endif
