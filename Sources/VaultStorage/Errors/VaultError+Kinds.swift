// What an app mostly wants to know of an error, in the words of Trifork Identity Manager.
extension VaultError {
    /// Whether the secret was wrong: ask for it again. See ``way`` and ``guessesRemaining``.
    public var isWrongSecret: Bool { code == .wrongSecret }

    /// Whether the key of this way in is locked after too many wrong guesses: use another way in, or register again.
    public var isKeyLocked: Bool { code == .keyLocked }

    /// Whether the key service did not release the key: it cannot be reached, or has locked the key or lost it. A wrong
    /// secret does not count as one.
    public var isKeyServiceError: Bool { [.keyServiceUnavailable, .keyLocked, .keyMissing].contains(code) }

    /// Whether hardware, or its PIN, did not open the account: try again, or ask for the password.
    public var isBiometricFailed: Bool {
        let hardware: [Code] = [.hardwareFailed, .hardwareLocked, .hardwareMissing, .hardwareReplaced]
        return hardware.contains(code) || code == .wrongSecret && way?.isHardware == true
    }

    /// Whether the provider takes the refresh token no longer: sign in and register again.
    public var isRefreshTokenExpired: Bool { [.refreshTokenExpired, .refreshInterrupted].contains(code) }

    /// Whether the key service or the identity provider could not be asked, or did not answer. No server refused the
    /// request. Try again later.
    public var isOutage: Bool { code == .keyServiceUnavailable || isProviderOutage }

    /// As ``isOutage``, of the identity provider alone: its session goes on.
    package var isProviderOutage: Bool {
        [
            .identityProviderUnavailable, .identityProviderTimedOut, .identityProviderInterrupted,
            .identityProviderAnswerInvalid,
        ].contains(code)
    }

    /// Whether it is about the way into an account, and not about the account.
    var isOfWay: Bool {
        [
            .wrongSecret, .keyLocked, .keyMissing, .hardwareFailed, .hardwareLocked, .hardwareMissing,
            .hardwareReplaced, .notEnrolled, .offlineTooLong,
        ].contains(code)
    }
}
