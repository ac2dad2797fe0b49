internal import KeyServiceClient
internal import VaultBase
internal import VaultBiometric
internal import VaultCrypto
package import VaultStorage

extension KeyServiceError: VaultErrorConvertible {
    package var vaultError: VaultError { VaultError(self) }
}

extension BiometricError: VaultErrorConvertible {
    package var vaultError: VaultError { VaultError(self) }
}

extension VaultError {
    /// - Parameters:
    ///   - kind: the kind of secret that the key service was asked with.
    ///   - others: the other unlock methods of the account that the key service did not refuse.
    ///   - lock: the guesses that locked the key; nil if it is not locked, or if nobody knows.
    init(
        _ error: KeyServiceError, secret kind: Keyslot.Kind? = nil, others: [Keyslot.Kind] = [],
        lock: CauseOfLock? = nil
    ) {
        let name = (kind ?? .password).displayName
        let names = Set(others.filter { $0 != kind && $0 != .offline }.map(\.displayName)).sorted()
        let hasOther = !names.isEmpty
        let otherMethod =
            hasOther
            ? "Another unlock method still opens the account (\(names.joined(separator: ", ")))."
            : "Register again."
        // Only what locks a key can be undone, so the operator is named first.
        let unlocking =
            (hasOther ? otherMethod + " " : "")
            + "The operator of the key service can unlock the key, and nothing is lost."
            + (hasOther ? "" : " If you register again, the stored items are lost.")
        let (code, text): (Code, String) =
            switch error.code {
            case .wrongSecret:
                switch error.guessesRemaining {
                case nil where kind == .recovery:
                    (
                        .wrongSecret,
                        "The recovery code is wrong, or its key is gone at the key service. Check the code. \(otherMethod)"
                    )
                case nil: (.wrongSecret, "Wrong \(name).")
                case 0: (.wrongSecret, "Wrong \(name). The key is locked now. \(unlocking)")
                case 1: (.wrongSecret, "Wrong \(name). 1 guess is left.")
                case let left?: (.wrongSecret, "Wrong \(name). \(left) guesses are left.")
                }
            // A call of the owner names no unlock method.
            case .keyLocked where kind == nil && lock == nil: (.keyLocked, error.description)
            case .keyLocked:
                (.keyLocked, "\((lock ?? .wrongSecrets).text(name)) \(unlocking)")
            case .noSuchKey where hasOther:
                (.keyMissing, "The key service does not have the \(name)'s key any more. \(otherMethod)")
            case .noSuchKey:
                (
                    .keyMissing,
                    "The key service does not have this account's key. Check the key service's URL, or register again."
                )
            case .keyRevoked where kind != nil && !hasOther:
                (
                    .deviceRevoked,
                    "This device was revoked, so no unlock method opens the account here any more. The items that are stored here are lost."
                )
            case .keyRevoked:
                (
                    .deviceRevoked,
                    "This device was revoked. The \(name)'s key is gone. If no other unlock method works, register again."
                )
            case .keyDestroyed:
                (
                    .keyMissing,
                    "The key service destroyed the \(name)'s key, because the key was locked for too long. \(otherMethod)"
                )
            case .keyEnded: (.keyMissing, "The \(name)'s key was ended. \(otherMethod)")
            case .unfinished: (.keyMissing, "The \(name)'s key is not finished, so it opens nothing. \(otherMethod)")
            case .busy: (.keyServiceUnavailable, error.description + " Try again in a minute.")
            case .noSuchDevice:
                (.deviceNotFound, "The device is not on the list any more.")
            case .noDeviceLists:
                (.configurationInvalid, error.description + " Its operator can switch them on.")
            case .invalidToken:
                (
                    .configurationInvalid,
                    error.description
                        + " Ask its operator to trust this identity provider and the audience of the token. If the provider's access tokens are opaque, the key service also needs a client at the provider."
                )
            case .invalidProof:
                (
                    .configurationInvalid,
                    error.description
                        + " Check the clock of this machine. If the clock is right, the key service has another public URL than this machine uses."
                )
            case .signInTooOld:
                (
                    .configurationInvalid,
                    error.description
                        + " Ask the operator of the identity provider to put auth_time into access tokens."
                )
            case .unlockedToday:
                (
                    .keyLocked,
                    error.description
                        + " Try again 24 hours after that sign-in, or ask the operator of the key service to unlock the key."
                )
            case .notTrusted:
                (
                    .keyServiceNotTrusted,
                    error.description
                        + " No key was made. Ask the operator of the key service for its identity key. If it has changed, trust the new one. If the machine's policy names the keys, ask its administrator to change them."
                )
            case .clock: (.configurationInvalid, error.description + " Set the clock, then try again.")
            case .unavailable where error.mayHaveCounted && kind?.isGuessable == true:
                (
                    .keyServiceUnavailable,
                    error.description
                        + " If the \(name) was wrong, the key service may have counted it. Try again later."
                )
            case .unavailable: (.keyServiceUnavailable, error.description + " Try again later.")
            default: (.configurationInvalid, error.description)
            }
        let detail: Detail? =
            switch error.code {
            case .noDeviceLists: .deviceListsOff
            case .invalidToken: .tokenNotTrusted
            // The text names no way back but to register again.
            case .wrongSecret where !hasOther && (error.guessesRemaining ?? (kind == .recovery ? 0 : 1)) == 0:
                .noOtherMethod
            case .keyLocked where !hasOther, .keyDestroyed where !hasOther, .keyEnded where !hasOther,
                .unfinished where !hasOther:
                .noOtherMethod
            default: nil
            }
        self.init(
            code, text, detail: detail, unlockMethod: kind, guessesRemaining: error.guessesRemaining, underlying: error)
    }

    /// The error of a login that would spend the last guess, although answers to earlier ones were lost.
    static func lastGuess(_ kind: Keyslot.Kind) -> VaultError {
        VaultError(
            .lastGuess,
            "Answers of the key service were lost. One more lost answer locks the \(kind.displayName), so no new guess was sent. Use another network.",
            unlockMethod: kind)
    }

    /// - Parameter account: as it is stored; nil if it is not stored any more.
    package static func noRefreshToken(_ id: AccountID, _ account: Account?) -> VaultError {
        let name = account?.displayName ?? id.subject
        // Only an imported account was never online here.
        let isImported = account.map { $0.lastOnlineAt == nil } ?? false
        return VaultError(
            .notLoggedIn,
            "\(name) has no refresh token on this machine. \(isImported ? "Sign in." : "Register again.")",
            detail: .noRefreshToken)
    }

    fileprivate init(_ error: BiometricError) {
        let code: Code =
            switch error.code {
            case .wrongPIN: .wrongSecret
            case .cancelled: .cancelled
            case .lockedOut: .hardwareLocked
            case .hardwareMissing: .hardwareMissing
            case .hardwareReplaced: .hardwareReplaced
            case .notEnrolled: .notEnrolled
            case .unavailable, .keyMissing, .notPermitted: .configurationInvalid
            default: .hardwareFailed
            }
        let library = error.underlying as? MissingLibrary
        let detail: Detail? =
            switch error.code {
            case .unavailable where library != nil: .libraryMissing
            case .keyMissing: .hardwareKeyMissing
            case .notPermitted: .hardwareForbidden
            default: nil
            }
        self.init(
            code, error.description, detail: detail, value: library?.packages.joined(separator: " "),
            guessesRemaining: error.guessesLeft, retryAfter: error.endsAfter, underlying: error)
    }
}
