#if PKCS11
    internal import CPKCS11
    internal import VaultBiometric

    /// A call to a module, in words that complete "The token failed while …".
    enum TokenCall: String {
        case loading = "loading its module"
        case listing = "listing the tokens"
        case opening = "opening a session"
        case findingKey = "looking for its keys"
        case loggingIn = "checking the PIN"
        case decrypting = "preparing to decrypt"
        case deriving = "agreeing on a key"
        case makingKey = "making a key"
    }

    /// A return code of a module: PKCS #11 2.40 section 5.1.
    struct TokenFailure: Error {
        let code: CK_RV
        let call: TokenCall

        init(code: CK_RV, during call: TokenCall) {
            self.code = code
            self.call = call
        }

        /// - Parameter code: the return code; nil for a function that the module does not have.
        static func check(_ code: CK_RV?, _ call: TokenCall) throws(TokenFailure) {
            let code = code ?? CKR_FUNCTION_NOT_SUPPORTED
            if code != CKR_OK { throw TokenFailure(code: code, during: call) }
        }

        /// The library's words for the code.
        var words: String {
            let words = try? LibP11Kit.open().p11_kit_strerror(code)
            return words.map { String(cString: $0) } ?? "unknown"
        }

        /// Whether modules return the code for a pulled-out token.
        var isRemoval: Bool {
            [
                CKR_DEVICE_REMOVED, CKR_TOKEN_NOT_PRESENT, CKR_TOKEN_NOT_RECOGNIZED, CKR_SLOT_ID_INVALID,
                CKR_SESSION_HANDLE_INVALID, CKR_SESSION_CLOSED,
            ].contains(code)
        }

        /// Whether the failure came before a PIN was sent.
        var isBeforeLogin: Bool { [.listing, .opening].contains(call) }

        /// Whether the module has no login for this single use of a key. Then no PIN was tried.
        var isNoLoginForUse: Bool {
            let codes = [CKR_OPERATION_NOT_INITIALIZED, CKR_USER_TYPE_INVALID, CKR_FUNCTION_NOT_SUPPORTED]
            return call == .loggingIn && codes.contains(code)
        }

        /// Whether the person cancelled at the token.
        var isCancellation: Bool { [CKR_CANCEL, CKR_FUNCTION_CANCELED, CKR_FUNCTION_REJECTED].contains(code) }
    }

    extension BiometricError {
        /// Makes the error for a return code, if the call gives it no other meaning.
        init(_ failure: TokenFailure) {
            let (code, text): (Code, String) =
                switch (failure.call, failure.code) {
                case _ where failure.isRemoval: (.hardwareMissing, "The token is gone. Plug it in and try again.")
                case _ where failure.isCancellation: (.cancelled, "You cancelled at the token.")
                case (.makingKey, CKR_DEVICE_MEMORY): (.failed, "The token is full. Delete an unused key.")
                case (.makingKey, _):
                    (
                        .unavailable,
                        "The token does not make such a key. Make a key with its own tools, or choose the other kind "
                            + "of key."
                    )
                default: (.failed, "The token failed while \(failure.call.rawValue).")
                }
            self.init(code, text + " (\(failure.words), code \(String(failure.code, radix: 16)))")
        }

        /// The same error for every failure to decrypt, so that an attacker with a changed ciphertext learns nothing.
        static let notOpened = BiometricError(
            .failed,
            "The token did not open the secret. Try again, and touch the token if it blinks. If that does not help, "
                + "the stored data is damaged: log in with another method, then enrol the token again.")
    }
#endif
