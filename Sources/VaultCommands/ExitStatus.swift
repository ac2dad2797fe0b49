internal import CredentialVault

/// The exit statuses of the command. Scripts rely on them.
enum ExitStatus {
    static let success: Int32 = 0
    static let other: Int32 = 1
    static let usage: Int32 = 64
    static let cancelled: Int32 = 82

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
