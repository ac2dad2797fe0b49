#if FIDO2
    internal import CFIDO2
    internal import VaultBiometric

    /// A command to the key, in words that complete "The security key failed while …".
    enum KeyCommand: String {
        case preparing = "preparing a command"
        case opening = "opening the conversation"
        case describing = "describing itself"
        case countingGuesses = "telling how many PINs are left"
        case looking = "looking for the enrolled credential"
        case enrolling = "making a credential"
        case answering = "computing its answer"
        case verifying = "proving its answer"
    }

    /// A status of the key (CTAP 2.1 section 8.2, "Status codes"), or a negative one of libfido2.
    struct KeyFailure: Error {
        let code: CInt
        let command: KeyCommand

        init(code: CInt, during command: KeyCommand) {
            self.code = code
            self.command = command
        }

        static func check(_ code: CInt, _ command: KeyCommand) throws(KeyFailure) {
            if code != FIDO_OK { throw KeyFailure(code: code, during: command) }
        }

        /// Whether the status comes from the key, not from the library.
        var isAnswer: Bool { code > 0 }

        /// Whether the key says that a credential is not its own. Keys that cannot read it use various codes.
        var isAboutCredential: Bool {
            [
                FIDO_ERR_NO_CREDENTIALS, FIDO_ERR_INVALID_CREDENTIAL, FIDO_ERR_INVALID_LENGTH, FIDO_ERR_LIMIT_EXCEEDED,
                FIDO_ERR_REQUEST_TOO_LARGE,
            ].contains(code)
        }

        var isWrongPIN: Bool { code == FIDO_ERR_PIN_INVALID }

        /// Whether the key refuses to work without a PIN.
        var isDemandForPIN: Bool { [FIDO_ERR_PIN_REQUIRED, FIDO_ERR_UNAUTHORIZED_PERM].contains(code) }

        /// libfido2's words for the code.
        var words: String {
            let words = try? LibFIDO2.open().fido_strerr(code)
            return words.map { String(cString: $0) } ?? "unknown"
        }
    }

    extension BiometricError {
        init(_ failure: KeyFailure) {
            let (code, text) = Self.meaning(of: failure)
            self.init(code, text + " (\(failure.words))")
        }

        private static func meaning(of failure: KeyFailure) -> (Code, String) {
            switch failure.code {
            case FIDO_ERR_PIN_INVALID:
                return (.wrongPIN, "The PIN is wrong.")
            case FIDO_ERR_PIN_AUTH_BLOCKED:
                return (
                    .lockedOut,
                    "The security key accepts no PIN after wrong ones. Unplug it, plug it in again, and try again."
                )
            case FIDO_ERR_PIN_BLOCKED:
                return (.lockedOut, blockedText)
            case FIDO_ERR_USER_ACTION_TIMEOUT, FIDO_ERR_ACTION_TIMEOUT, FIDO_ERR_TIMEOUT:
                return (.timedOut, "The security key was not touched in time. Try again.")
            case FIDO_ERR_OPERATION_DENIED, FIDO_ERR_KEEPALIVE_CANCEL:
                return (.cancelled, "You refused at the security key.")
            case FIDO_ERR_NO_CREDENTIALS, FIDO_ERR_INVALID_CREDENTIAL:
                return (.hardwareReplaced, replacedText)
            case FIDO_ERR_PIN_POLICY_VIOLATION:
                return (.failed, "The security key wants another PIN first. Change its PIN: fido2-token -C DEVICE")
            case FIDO_ERR_PIN_NOT_SET, FIDO_ERR_PIN_REQUIRED:
                return (.failed, "The PIN of the security key was set or removed. Enrol the key again.")
            case FIDO_ERR_CHANNEL_BUSY:
                return (.failed, "Another program is using the security key. Close that program, and try again.")
            case FIDO_ERR_UNSUPPORTED_ALGORITHM, FIDO_ERR_UNSUPPORTED_EXTENSION, FIDO_ERR_UNSUPPORTED_OPTION:
                return (.unavailable, "The security key cannot do this. Use another one.")
            default:
                return (.failed, "The security key failed while \(failure.command.rawValue). Try again.")
            }
        }

        static let blockedText =
            "The security key accepts no PIN after too many wrong ones. Log in with another method. Only a reset "
            + "unlocks the key, and erases all its content: fido2-token -R DEVICE"

        static let replacedText =
            "This is not the enrolled security key, or it was reset. Plug in the enrolled one."

        /// Returns the error with the number of PINs that are left.
        func with(guessesLeft: Int) -> BiometricError {
            BiometricError(code, description, guessesLeft: guessesLeft, endsAfter: endsAfter, underlying: underlying)
        }
    }
#endif
