internal import CredentialVault
internal import VaultManual

/// The exit statuses. They are part of the command's interface: a script may rely on them.
enum ExitStatus {
    static let success: Int32 = 0
    static let other: Int32 = 1
    static let usage: Int32 = 64
    static let cancelled: Int32 = 82

    /// What each means, for people.
    static let meanings = ExitStatuses(
        [
            (success, "done"), (usage, "usage"), (65, "stored data or backup damaged"), (66, "no such user or item"),
            (69, "identity provider or key service unreachable"), (75, "busy or too many attempts (try again)"),
            (77, "wrong password or PIN, or a new one that cannot be used"), (78, "configuration"),
            (80, "key locked or gone (use another way in, or register again)"),
            (81, "refresh token expired or revoked (register again)"), (cancelled, "cancelled or denied"),
            (83, "logged out everywhere (register again), or offline for too long (log in with the network)"),
            (84, "hardware missing, locked or failing (use another way in)"),
            (85, "forbidden by the policy of this machine"), (other, "anything else"),
        ],
        remark: """
            "vault exec" ends with the exit status of its command. With --json, errors are JSON on standard error.
            """)

    static func of(_ code: VaultError.Code) -> Int32 {
        switch code {
        case .itemTooLarge: usage
        case .storeCorrupt, .itemUnexpected, .backupInvalid: 65
        case .accountNotFound, .accountAmbiguous, .itemNotFound: 66
        case .identityProviderUnavailable, .identityProviderTimedOut, .identityProviderInterrupted,
            .identityProviderAnswerInvalid, .keyServiceUnavailable:
            69
        case .busy, .outOfMemory, .tooManyAttempts: 75
        case .wrongSecret, .passwordUnusable: 77
        case .configurationInvalid, .interactionRequired, .aliasTaken, .unsafeFileSystem, .lastWayIn, .notEnrolled: 78
        case .keyLocked, .keyMissing: 80
        case .refreshTokenExpired, .refreshInterrupted: 81
        case .cancelled, .deviceCodeExpired: cancelled
        case .notLoggedIn, .offlineTooLong: 83
        case .forbiddenByPolicy: 85
        case .hardwareMissing, .hardwareReplaced, .hardwareFailed, .hardwareLocked: 84
        default: other
        }
    }
}
