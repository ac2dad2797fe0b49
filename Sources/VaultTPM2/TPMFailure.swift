#if TPM2
    internal import CTPM2
    internal import VaultBiometric

    /// A command to the TPM, in words that complete "The TPM failed while …".
    enum TPMCommand: String {
        case connecting = "connecting to it"
        case preparing = "preparing a command"
        case readingProperties = "telling its properties"
        case findingStorageKey = "looking for its storage root key"
        case makingStorageKey = "deriving its storage root key"
        case savingStorageKey = "saving its storage root key"
        case loadingStorageKey = "loading its storage root key"
        case startingSession = "starting an encrypted session"
        case readingPCRs = "reading its PCRs"
        case sealing = "sealing"
        case loading = "loading the sealed secret"
        case checkingPCRs = "checking its PCRs"
        case unsealing = "unsealing"
    }

    /// A return code of the TPM or of the libraries on the way to it.
    struct TPMFailure: Error {
        let code: TSS2_RC
        let command: TPMCommand

        init(code: TSS2_RC, during command: TPMCommand) {
            self.code = code
            self.command = command
        }

        static func check(_ code: TSS2_RC, _ command: TPMCommand) throws(TPMFailure) {
            if code != TSS2_RC_SUCCESS { throw TPMFailure(code: code, during: command) }
        }

        /// The libraries' own code for "out of memory".
        static let noMemory: TSS2_RC = 7 << 16 | 0x17

        /// Whether a return code says that there is no such transmission interface (TSS2_TCTI_RC_NOT_SUPPORTED).
        static func isUnknownInterface(_ code: TSS2_RC) -> Bool { code == 10 << 16 | 0x15 }

        /// Whether the code comes from the TPM, or from the resource manager in the kernel or the daemon (layer 11).
        /// After other errors, ESYS may refuse to send anything.
        var isAnswer: Bool { [0, 11].contains(code >> 16 & 0xFF) }

        /// The TPM's own code: TPM 2.0 Library, part 2, section "TPM_RC"; nil for the libraries' errors.
        var response: TPMResponse? {
            guard isAnswer else { return nil }
            let bits = code & 0xFFFF
            // A code of format 1 also names a handle, parameter or session.
            return TPMResponse(rawValue: bits & 0x80 == 0 ? bits : bits & 0xBF)
        }

        /// Whether the TPM refused a parameter.
        var isAboutParameter: Bool { code >> 16 == 0 && code & 0xC0 == 0xC0 }

        /// Whether the connection to the TPM is broken.
        var isDisconnection: Bool {
            // The transmission interface has layer 10. Its errors here: no connection, I/O error.
            code >> 16 & 0xFF == 10 && [0x8, 0xA].contains(code & 0xFFFF)
        }
    }

    /// The answers of the TPM with different next steps.
    enum TPMResponse: UInt32 {
        case hierarchy = 0x085
        case handle = 0x08B
        case wrongAuthorization = 0x08E
        case policyNotMet = 0x09D
        case wrongAuthorizationUncounted = 0x0A2
        case notStarted = 0x100
        case failureMode = 0x101
        case pcrChanged = 0x128
        case rebootNeeded = 0x130
        case noPlaceForObject = 0x902
        case noPlaceForSession = 0x903
        case noHandleForSession = 0x905
        case handle1Gone = 0x910
        case handle2Gone = 0x911
        case session1Gone = 0x918
        case session2Gone = 0x919
        case writesTooFast = 0x920
        case lockedOut = 0x921
        case writesNotNow = 0x923
    }

    extension BiometricError {
        /// Makes the error for a return code, if the command gives it no other meaning.
        init(_ failure: TPMFailure) {
            let (code, text) = Self.meaning(of: failure)
            self.init(code, text + " (\(failure.words), code \(String(failure.code, radix: 16)))")
        }

        private static func meaning(of failure: TPMFailure) -> (Code, String) {
            if failure.isDisconnection {
                return (.hardwareMissing, "The TPM does not answer: it is missing, or the connection broke.")
            }
            switch failure.response {
            case .notStarted, .handle, .handle1Gone, .handle2Gone, .session1Gone, .session2Gone:
                return (.failed, "The TPM was reset during the operation. Try again.")
            case .failureMode, .rebootNeeded:
                return (.failed, "The TPM has stopped working. Restart the machine.")
            case .noPlaceForObject, .noPlaceForSession, .noHandleForSession:
                return (.failed, "The TPM is full of other programs' objects. Use /dev/tpmrm0, and try again.")
            case .writesTooFast, .writesNotNow:
                return (.failed, "The TPM cannot write now. Try again in a moment.")
            case .wrongAuthorization, .wrongAuthorizationUncounted:
                return (
                    .unavailable,
                    "The TPM's owner has set a password, and there is no storage root key at 0x81000001 that can be "
                        + "used without it. Ask the owner to put one there."
                )
            case .hierarchy:
                return (.unavailable, "The TPM's storage is turned off. Turn it on in the firmware settings.")
            default:
                return (.failed, "The TPM failed while \(failure.command.rawValue).")
            }
        }
    }

    extension TPMFailure {
        /// The library's words for the code.
        var words: String {
            let words = try? LibTSS2.open().Tss2_RC_Decode(code)
            return words.map { String(cString: $0) } ?? "unknown"
        }
    }
#endif
