internal import OpenIDConnect
internal import VaultHTTP
package import VaultStorage

extension OpenIDConnectError: VaultErrorConvertible {
    package var vaultError: VaultError { VaultError(self) }
}

extension RedirectListenerError: VaultErrorConvertible {
    package var vaultError: VaultError {
        code == .timedOut
            ? VaultError(
                .cancelled, "The browser sent no answer within five minutes. Start the login again.", underlying: self)
            : VaultError(.configurationInvalid, description, underlying: self)
    }
}

extension Account {
    /// The error of an account whose token the provider refused for good; nil for any other account. Nobody needs to give
    /// a secret to find out.
    package var refusal: VaultError? {
        refusedAt == nil ? nil : VaultError.refused(self, wasInterrupted: refreshStartedAt != nil, isNoted: true)
    }

    /// What the account keeps for the provider, in a sentence for a person. Some servers have no refresh tokens.
    fileprivate var tokenWord: String {
        let withoutRefreshTokens: [SignInMethod] = [.backend, .serverOAuth, .serverToken]
        return withoutRefreshTokens.contains(method) ? "The login" : "The refresh token"
    }
}

extension VaultError {
    /// The error of an account whose token the provider refused for good.
    ///
    /// - Parameters:
    ///   - wasInterrupted: whether an earlier refresh did not end, so the provider may have replaced the token.
    ///   - refusal: the provider's answer; nil if it came earlier.
    ///   - isNoted: whether the account noted the refusal earlier, and nobody asked the provider now.
    static func refused(
        _ account: Account, wasInterrupted: Bool, by refusal: (any Error)? = nil, isNoted: Bool = false
    ) -> VaultError {
        let (code, text): (Code, String) =
            wasInterrupted
            ? (
                .refreshInterrupted,
                "An earlier refresh for \(account.displayName) was cut off, or an older copy of the store was used. The identity provider no longer accepts the stored token. Register again."
            )
            : (
                .refreshTokenExpired,
                "\(account.tokenWord) of \(account.displayName) has expired or was revoked, or an older copy of the store was used. Register again."
            )
        return VaultError(
            code, text, detail: isNoted ? .refusalNoted : nil, value: isNoted ? account.displayName : nil,
            underlying: refusal)
    }

    fileprivate init(_ error: OpenIDConnectError) {
        let code: Code =
            switch error.code {
            case .unavailable: .identityProviderUnavailable
            case .timedOut: .identityProviderTimedOut
            case .interrupted: .identityProviderInterrupted
            case .invalidAnswer: .identityProviderAnswerInvalid
            case .denied, .cancelled: .cancelled
            case .invalidGrant: .refreshTokenExpired
            case .interactionRequired: .interactionRequired
            case .deviceCodeExpired: .deviceCodeExpired
            case .wrongCredentials: .wrongSecret
            case .configurationInvalid, .unsupported, .refused: .configurationInvalid
            default: .tokenInvalid
            }
        let text =
            switch error.code {
            case .deviceCodeExpired: error.description + " Start again."
            case .configurationInvalid:
                // A wrong setting of this machine has nothing to do with OpenID Connect, so its own text is shown.
                (error.underlying as? HTTPError).flatMap { $0.code == .certificateFileInvalid ? $0.description : nil }
                    ?? error.description
            default: error.description
            }
        self.init(code, text, underlying: error)
    }
}
