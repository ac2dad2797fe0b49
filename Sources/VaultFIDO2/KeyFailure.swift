#if FIDO2
    internal import CFIDO2
    internal import VaultBiometric

    /// What the key was asked for, in words that complete "The security key failed while …".
    enum KeyCommand: String {
        case preparing = "preparing a command"
        case opening = "opening the conversation"
        case describing = "describing itself"
        case countingTries = "telling how many PINs are left"
        case looking = "looking for what was enrolled"
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

        /// Whether the key itself said something, and not the library that it could not be understood or reached.
        var isAnswer: Bool { code > 0 }

        /// Whether the key says that a credential is not one of its own. Keys that cannot even read it have various ways to
        /// say so.
        var isAboutCredential: Bool {
            [
                FIDO_ERR_NO_CREDENTIALS, FIDO_ERR_INVALID_CREDENTIAL, FIDO_ERR_INVALID_LENGTH, FIDO_ERR_LIMIT_EXCEEDED,
                FIDO_ERR_REQUEST_TOO_LARGE,
            ].contains(code)
        }

        var isWrongPIN: Bool { code == FIDO_ERR_PIN_INVALID }

        /// Whether the key does nothing without a PIN.
        var isDemandForPIN: Bool { [FIDO_ERR_PIN_REQUIRED, FIDO_ERR_UNAUTHORIZED_PERM].contains(code) }

        /// libfido2's word for the code.
        var words: String { String(cString: fido_strerr(code)) }
    }

    extension BiometricError {
        /// What a failure means to a person.
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
                    "After wrong PINs the security key takes none until it was unplugged and plugged in again."
                )
            case FIDO_ERR_PIN_BLOCKED:
                return (.lockedOut, blockedText)
            case FIDO_ERR_USER_ACTION_TIMEOUT, FIDO_ERR_ACTION_TIMEOUT, FIDO_ERR_TIMEOUT:
                return (.timedOut, "The security key was not touched in time. Try again.")
            case FIDO_ERR_OPERATION_DENIED, FIDO_ERR_KEEPALIVE_CANCEL:
                return (.cancelled, "It was refused at the security key.")
            case FIDO_ERR_NO_CREDENTIALS, FIDO_ERR_INVALID_CREDENTIAL:
                return (.hardwareReplaced, replacedText)
            case FIDO_ERR_PIN_POLICY_VIOLATION:
                return (.failed, "The security key wants its PIN changed first, for example with `fido2-token -C`.")
            case FIDO_ERR_PIN_NOT_SET, FIDO_ERR_PIN_REQUIRED:
                return (.failed, "The PIN of the security key was set or removed. Enrol the key anew.")
            case FIDO_ERR_CHANNEL_BUSY:
                return (.failed, "Another program is using the security key. Try again.")
            case FIDO_ERR_UNSUPPORTED_ALGORITHM, FIDO_ERR_UNSUPPORTED_EXTENSION, FIDO_ERR_UNSUPPORTED_OPTION:
                return (.unavailable, "The security key cannot do this. Use another one.")
            default:
                return (.failed, "The security key failed while \(failure.command.rawValue). Try again.")
            }
        }

        static let blockedText =
            "The security key takes no PIN any more after too many wrong ones. Only a reset helps (`fido2-token -R`), which "
            + "erases all that it holds. Sign in another way."

        static let replacedText =
            "This is another security key than the one that was enrolled, or it was reset. Plug in the other one."

        /// With how many PINs are left.
        func with(triesLeft: Int) -> BiometricError {
            BiometricError(code, description, triesLeft: triesLeft, endsAfter: endsAfter, underlying: underlying)
        }
    }
#endif
