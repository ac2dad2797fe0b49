#if PKCS11
    internal import CPKCS11
    internal import VaultBiometric
    internal import VaultCrypto

    extension TokenSession {
        /// Seals a secret for the first key that can open it again.
        ///
        /// - Parameters:
        ///   - id: the CKA_ID of the key, unless any will do.
        ///   - label: the CKA_LABEL of the key, unless any will do.
        ///   - newKey: what to make when there is no such key.
        ///   - pin: the one that the session is logged in with.
        func enrol(
            _ secret: SharedSecret, id: [UInt8]?, label: [UInt8]?, _ newKey: PKCS11KeyKind?, _ pin: SharedSecret?
        ) throws -> SealedForm {
            for key in try keys(id: id, label: label) {
                if let form = try form(for: secret, with: key, pin) { return form }
            }
            guard let newKey else {
                throw BiometricError(
                    .unavailable,
                    "\"\(token.identity.name)\" has no key\(id == nil && label == nil ? "" : " of that name") that could be "
                        + "used: RSA of at least 2048 bits that may decrypt, or one on P-256, P-384 or P-521 that may "
                        + "derive, and that wants the PIN. Make one, or have one made: vault unlock add pkcs11 --make-key"
                )
            }
            let made = try makeKey(newKey)
            do {
                for key in try keys(id: made.id) {
                    if let form = try form(for: secret, with: key, pin) { return form }
                }
                throw BiometricError(
                    .unavailable,
                    "\"\(token.identity.name)\" made a key that it cannot use. Ask for one of the other kind.")
            } catch {
                for handle in made.handles { destroy(handle) }
                throw error
            }
        }

        /// - Returns: nil when the token cannot open it with this key.
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

        /// Opens a secret with the key that it was sealed for.
        func open(_ form: SealedForm, _ pin: SharedSecret?) throws -> SecretBytes {
            let handles = try privateKeys(id: form.keyID)
            guard handles.count == 1 else {
                let key = try key(of: form)
                return try form.open(
                    secret(form.message, form.scheme, with: key.handle, wantsPIN: key.wantsPIN, pin))
            }
            // Reading what a private key tells of itself takes a token a while. The only one with the id is the right one,
            // unless it fails.
            do {
                return try form.open(
                    secret(form.message, form.scheme, with: handles[0], wantsPIN: wantsPIN(handles[0]), pin))
            } catch {
                if Self.isOfKey(error) {
                    // What else goes wrong now, in a session in which something failed already, is not what to tell of.
                    do { _ = try key(of: form) } catch is TokenFailure {}
                }
                throw error
            }
        }

        /// - Throws: `hardwareReplaced` when the key is not there any more.
        private func key(of form: SealedForm) throws -> TokenKey {
            let keys = try keys(id: form.keyID)
            guard let key = keys.first(where: { $0.fingerprint == form.fingerprint }) else {
                throw BiometricError.keyGone(token.identity)
            }
            return key
        }

        /// Whether another key, of whatever kind, would have failed in this way.
        private static func isOfKey(_ error: any Error) -> Bool {
            switch error {
            case let failure as TokenFailure:
                [.decrypting, .deriving].contains(failure.call) && !failure.isRemoval && !failure.isCancellation
            case let error as BiometricError: error.code == .failed
            default: false
            }
        }

        /// - Throws: ``TokenFailure`` when the token is not there any more.
        private func checkPresence() throws {
            if try !token.isThere() { throw TokenFailure(code: CKR_TOKEN_NOT_PRESENT, during: .decrypting) }
        }
    }
#endif
