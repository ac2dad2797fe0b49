#if PKCS11
    internal import CPKCS11
    internal import VaultBiometric

    extension TokenConnection {
        /// Looks for a token, and remembers it for ``useAgain(for:_:_:)``.
        func find(_ search: () throws -> Token) throws -> Token {
            let token = try search()
            found = token
            return token
        }

        /// Calls `body` with the token that was found before the PIN was typed. The token may have been pulled out and
        /// plugged in again, which some modules notice only after a restart.
        ///
        /// - Parameters:
        ///   - form: the form to open; nil for a new secret.
        /// - Throws: an error that explains the failure to a person.
        func useAgain<Answer>(
            for form: SealedForm? = nil, _ search: () throws -> Token, _ body: (Token) throws -> Answer
        ) throws -> Answer {
            if let found {
                do {
                    return try body(found)
                } catch let failure as TokenFailure where failure.isBeforeLogin {
                } catch {
                    throw try explanation(of: error, found, form)
                }
            }
            do {
                try reopen()
            } catch is TokenFailure {
            } catch let error as BiometricError where error.code == .unavailable {
            }
            let token = try search()
            do {
                return try body(token)
            } catch {
                throw try explanation(of: error, token, form)
            }
        }

        private func explanation(of error: any Error, _ token: Token, _ form: SealedForm?) throws -> any Error {
            switch error {
            case let failure as TokenFailure:
                try checkPresence(of: token, form)
                return Self.reason(for: failure, token)
            case let error as BiometricError where error.code == .failed:
                try checkPresence(of: token, form)
                return error
            default: return error
            }
        }

        /// Checks that the token is there, as modules have many error codes for a missing one.
        private func checkPresence(of token: Token, _ form: SealedForm?) throws {
            if try token.isThere() { return }
            if let form { _ = try self.token(of: form) }
            throw BiometricError.notThere(token.identity)
        }

        private static func reason(for failure: TokenFailure, _ before: Token) -> BiometricError {
            guard failure.call == .loggingIn else { return BiometricError(failure) }
            let token = (try? before.now()) ?? before
            switch failure.code {
            case CKR_PIN_INCORRECT where token.isLocked: return token.lockedOut("The PIN is wrong. ")
            case CKR_PIN_INCORRECT:
                return BiometricError(.wrongPIN, "The PIN is wrong.", guessesLeft: token.guessesLeft)
            case CKR_PIN_LEN_RANGE, CKR_PIN_INVALID:
                return BiometricError(
                    .wrongPIN, "The PIN is wrong: it is too short, too long, or has forbidden characters.",
                    guessesLeft: token.guessesLeft)
            case CKR_PIN_LOCKED: return token.lockedOut()
            case CKR_PIN_EXPIRED:
                return BiometricError(
                    .failed,
                    "The PIN of \"\(token.identity.name)\" must be changed first. Use the token's own tools.")
            case CKR_USER_PIN_NOT_INITIALIZED:
                return BiometricError(
                    .unavailable, "\"\(token.identity.name)\" has no PIN yet. Set one with the token's own tools.")
            default: return BiometricError(failure)
            }
        }
    }
#endif
