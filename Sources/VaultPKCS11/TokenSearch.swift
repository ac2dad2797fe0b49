#if PKCS11
    internal import VaultBiometric

    extension TokenConnection {
        /// Finds the token for a new secret.
        func tokenToEnrol() throws -> Token {
            let tokens = try tokens()
            guard let token = tokens.first else {
                throw BiometricError(.hardwareMissing, "There is no token. Plug it in.")
            }
            guard tokens.count == 1 else {
                let names = try tokens.map { "\"\($0.identity.name)\" (\(try TokenURI(naming: $0.info).text))" }
                throw BiometricError(
                    .failed, "There is more than one token. Choose one by its URI: \(names.joined(separator: ", ")).")
            }
            try token.checkReady()
            return token
        }

        /// Finds the token of a stored secret.
        ///
        /// - Throws: `hardwareMissing`; `hardwareReplaced` if another token is in its place, or its key is gone.
        func token(of form: SealedForm) throws -> Token {
            var (first, shown, hidden): (Token?, Token?, Token?)
            let tokens = try tokens { token in
                guard token.identity.isSameHardware(as: form.token) else { return false }
                first = first ?? token
                switch try visibleKey(of: form, on: token) {
                case .same:
                    shown = token
                    return true
                // Some makers give all tokens the same serial number. No PIN goes to a token that may be another one.
                case .hidden where token.identity == form.token: hidden = token
                case .hidden, .other: break
                case .gone: throw BiometricError.notThere(form.token)
                }
                return false
            }
            guard let first else { throw Self.absence(of: form, tokens) }
            guard let token = shown ?? hidden else { throw BiometricError.keyGone(first.identity) }
            try token.checkReady()
            return token
        }

        private func visibleKey(of form: SealedForm, on token: Token) throws -> Sighting {
            do {
                return try token.withSession { try $0.visibleKey(of: form) }
            } catch let failure as TokenFailure {
                // A token may be pulled out at any moment, and modules have many error codes for that.
                if try token.isThere() { throw failure }
                return .gone
            }
        }

        private static func absence(of form: SealedForm, _ others: [Token]) -> BiometricError {
            let inItsPlace = others.first {
                $0.identity.isSameModel(as: form.token) || $0.slotDescription == form.slotDescription
            }
            guard let inItsPlace else { return .notThere(form.token) }
            return BiometricError(
                .hardwareReplaced,
                "The token \"\(inItsPlace.identity.name)\", serial number \(inItsPlace.identity.serial), is not the "
                    + "enrolled one. Plug in \"\(form.token.name)\", serial number \(form.token.serial).")
        }
    }

    /// The knowledge about the key on a token without a PIN.
    private enum Sighting { case same, other, hidden, gone }

    extension BiometricError {
        static func notThere(_ token: TokenIdentity) -> BiometricError {
            BiometricError(.hardwareMissing, "The token \"\(token.name)\" is not there. Plug it in and try again.")
        }

        static func keyGone(_ token: TokenIdentity) -> BiometricError {
            BiometricError(
                .hardwareReplaced,
                "\"\(token.name)\" does not have its enrolled key any more: the key was erased or replaced. Log "
                    + "in with another method, then enrol the token again.")
        }
    }

    extension Token {
        /// - Throws: `lockedOut`; `unavailable` if it has no PIN.
        fileprivate func checkReady() throws {
            if isLocked { throw lockedOut() }
            guard hasPIN else {
                throw BiometricError(
                    .unavailable, "\"\(identity.name)\" has no PIN yet. Set one with the token's own tools.")
            }
        }
    }

    extension TokenSession {
        fileprivate func visibleKey(of form: SealedForm) throws -> Sighting {
            let visible = try publicKeys(id: form.keyID)
            if visible.contains(where: { $0.fingerprint == form.fingerprint }) { return .same }
            // A token that shows other keys would show this one, too.
            return try publicKeys(id: nil).isEmpty ? .hidden : .other
        }
    }
#endif
