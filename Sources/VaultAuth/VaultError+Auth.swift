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

extension VaultError {
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
