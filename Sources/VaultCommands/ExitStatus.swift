internal import CredentialVault
internal import VaultManual

/// The exit statuses of the command. Scripts rely on them.
enum ExitStatus {
    static let success: Int32 = 0
    static let other: Int32 = 1
    static let usage: Int32 = 64
    static let unwritten: Int32 = 74
    static let cancelled: Int32 = 82

    /// The meaning of each status, for people.
    static let meanings = ExitStatuses(
        [
            (success, "done"), (other, "any other error"), (usage, "wrong usage"),
            (65, "stored data or backup is damaged"), (66, "no such user, item or device"),
            (69, "provider or key service cannot be reached: try later"),
            (unwritten, "output or store cannot be written, or store cannot be read"),
            (75, "busy or too many attempts: try again; one guess left after lost answers"),
            (77, "wrong password or PIN, or a new one is refused"),
            (78, "wrong or missing configuration"),
            (80, "key is locked or gone: use another unlock method, or register again"),
            (81, "refresh token has expired or is revoked: register again"), (cancelled, "cancelled or denied"),
            (83, "logged out everywhere: register again. Offline too long: log in online"),
            (84, "hardware is missing, locked or failing: use another unlock method"),
            (85, "forbidden by the policy of this machine"),
        ],
        remark: """
            "vault exec" ends with the exit status of its command. With --json, errors are JSON on standard error.
            """)

    static func of(_ code: VaultError.Code) -> Int32 {
        switch code {
        case .itemTooLarge: usage
        case .storeCorrupt, .itemUnexpected, .backupInvalid: 65
        case .accountNotFound, .accountAmbiguous, .itemNotFound, .deviceNotFound: 66
        case .identityProviderUnavailable, .identityProviderTimedOut, .identityProviderInterrupted,
            .identityProviderAnswerInvalid, .keyServiceUnavailable:
            69
        case .storeUnreadable: unwritten
        case .busy, .outOfMemory, .tooManyAttempts, .lastGuess: 75
        case .wrongSecret, .passwordUnusable, .secretRequired: 77
        case .configurationInvalid, .interactionRequired, .aliasTaken, .unsafeFileSystem, .lastUnlockMethod,
            .notEnrolled,
            .keyServiceNotTrusted:
            78
        case .keyLocked, .keyMissing, .deviceRevoked: 80
        case .refreshTokenExpired, .refreshInterrupted: 81
        case .cancelled, .deviceCodeExpired: cancelled
        case .notLoggedIn, .offlineTooLong: 83
        case .forbiddenByPolicy: 85
        case .hardwareMissing, .hardwareReplaced, .hardwareFailed, .hardwareLocked, .guessesUnlimited: 84
        default: other
        }
    }
}
