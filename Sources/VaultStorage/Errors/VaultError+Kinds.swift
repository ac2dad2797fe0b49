// The questions that most apps ask about an error, in the words of Trifork Identity Manager.
extension VaultError {
    /// Whether the secret was wrong. Ask for it again: see ``unlockMethod`` and ``guessesRemaining``.
    public var isWrongSecret: Bool { code == .wrongSecret }

    /// Whether too many wrong guesses locked the key of this unlock method. Use another unlock method, or register
    /// again.
    public var isKeyLocked: Bool { code == .keyLocked }

    /// Whether the key service did not help: it cannot be reached, or the key is locked, missing or revoked. False for
    /// a wrong secret.
    public var isKeyServiceError: Bool {
        [.keyServiceUnavailable, .keyLocked, .keyMissing, .deviceRevoked].contains(code)
    }

    /// Whether the hardware did not open the account, its PIN was wrong, or the person cancelled. Also if the person
    /// cancelled the prompt for a PIN. Try again, or ask for the password. After `cancelled`, show no error.
    public var isBiometricFailed: Bool {
        switch code {
        case .hardwareFailed, .hardwareLocked, .hardwareMissing, .hardwareReplaced: true
        case .wrongSecret: unlockMethod?.isHardware == true
        case .cancelled: unlockMethod?.isHardware == true || unlockMethod == .pin
        default: false
        }
    }

    /// Whether the provider no longer accepts the refresh token. Sign in and register again.
    public var isRefreshTokenExpired: Bool { [.refreshTokenExpired, .refreshInterrupted].contains(code) }

    /// Whether the key service or the identity provider could not be reached, or gave no valid answer. No server
    /// refused the request. Try again later.
    public var isOutage: Bool { code == .keyServiceUnavailable || isProviderOutage }

    /// Whether ``isOutage`` is true because of the identity provider. Then the session goes on.
    package var isProviderOutage: Bool {
        [
            .identityProviderUnavailable, .identityProviderTimedOut, .identityProviderInterrupted,
            .identityProviderAnswerInvalid,
        ].contains(code)
    }

    /// Whether the error is about the unlock method, and not about the account.
    var isOfKeyslot: Bool {
        [
            .wrongSecret, .keyLocked, .lastGuess, .keyMissing, .deviceRevoked, .hardwareFailed, .hardwareLocked,
            .hardwareMissing, .hardwareReplaced, .notEnrolled, .offlineTooLong, .cancelled,
        ].contains(code)
    }
}
