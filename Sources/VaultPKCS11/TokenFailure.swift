#if PKCS11
    internal import CPKCS11
    internal import VaultBiometric

    /// What a module was asked for, in words that complete "The token failed while …".
    enum TokenCall: String {
        case loading = "loading its module"
        case listing = "telling what is plugged in"
        case opening = "opening a session"
        case findingKey = "looking for its keys"
        case loggingIn = "checking the PIN"
        case decrypting = "preparing to decrypt"
        case deriving = "agreeing on a key"
        case makingKey = "making a key"
    }

    /// What a module returned: PKCS #11 2.40 section 5.1.
    struct TokenFailure: Error {
        let code: CK_RV
        let call: TokenCall

        init(code: CK_RV, during call: TokenCall) {
            self.code = code
            self.call = call
        }

        /// - Parameter code: nil for a function that the module does not have.
        static func check(_ code: CK_RV?, _ call: TokenCall) throws(TokenFailure) {
            let code = code ?? CKR_FUNCTION_NOT_SUPPORTED
            if code != CKR_OK { throw TokenFailure(code: code, during: call) }
        }

        /// The library's words for the code.
        var words: String { p11_kit_strerror(code).map { String(cString: $0) } ?? "unknown" }

        /// Whether the code is one that modules return when the token is pulled out.
        var isRemoval: Bool {
            [
                CKR_DEVICE_REMOVED, CKR_TOKEN_NOT_PRESENT, CKR_TOKEN_NOT_RECOGNIZED, CKR_SLOT_ID_INVALID,
                CKR_SESSION_HANDLE_INVALID, CKR_SESSION_CLOSED,
            ].contains(code)
        }

        /// Whether no PIN was sent yet.
        var isBeforeLogin: Bool { [.listing, .opening].contains(call) }

        /// Whether the module has no login for a single use of a key, or not for this use. No PIN was tried then.
        var isNoLoginForUse: Bool {
            let codes = [CKR_OPERATION_NOT_INITIALIZED, CKR_USER_TYPE_INVALID, CKR_FUNCTION_NOT_SUPPORTED]
            return call == .loggingIn && codes.contains(code)
        }

        /// Whether it was the person, at the token, who called it off.
        var isCancellation: Bool { [CKR_CANCEL, CKR_FUNCTION_CANCELED, CKR_FUNCTION_REJECTED].contains(code) }
    }

    extension BiometricError {
        /// What a return code means to a person, where the call gives it no other meaning.
        init(_ failure: TokenFailure) {
            let (code, text): (Code, String) =
                switch (failure.call, failure.code) {
                case _ where failure.isRemoval: (.hardwareMissing, "The token is not there any more. Plug it in.")
                case _ where failure.isCancellation: (.cancelled, "It was called off at the token.")
                case (.makingKey, CKR_DEVICE_MEMORY): (.failed, "The token is full.")
                case (.makingKey, _):
                    (
                        .unavailable,
                        "The token does not make such a key this way. Make one with its own tools, or ask for one of the "
                            + "other kind."
                    )
                default: (.failed, "The token failed while \(failure.call.rawValue).")
                }
            self.init(code, text + " (\(failure.words), code \(String(failure.code, radix: 16)))")
        }

        /// What every failure to decrypt looks like, so that nobody learns from a changed ciphertext how it fails.
        static let notOpened = BiometricError(
            .failed,
            "The token did not open the secret. Try again, and touch the token if it blinks. If that does not help, what "
                + "was stored for it is damaged: sign in another way, then enrol the token anew.")
    }
#endif
