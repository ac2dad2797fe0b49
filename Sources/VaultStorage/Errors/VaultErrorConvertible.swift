internal import VaultCrypto

/// An error of one part of the vault that can say what it means in the vault's terms.
package protocol VaultErrorConvertible: Error {
    /// The error that an app sees instead.
    var vaultError: VaultError { get }
}

extension StoreError: VaultErrorConvertible {
    package var vaultError: VaultError { VaultError(self) }
}

extension VaultCryptoError: VaultErrorConvertible {
    package var vaultError: VaultError { VaultError(self) }
}

extension VaultError {
    fileprivate init(_ error: StoreError) {
        let code: Code =
            switch error.code {
            case .corrupt: .storeCorrupt
            case .busy, .alreadyLocked: .busy
            case .unsafePermissions, .reservedName: .configurationInvalid
            case .unsafeFileSystem: .unsafeFileSystem
            case .noSuchAccount: .accountNotFound
            case .vaultKeyReplaced: .notLoggedIn
            case .tooManyGuesses: .tooManyAttempts
            case .aliasTaken: .aliasTaken
            default: .storeUnreadable
            }
        self.init(
            code, error.description, detail: error.detail, value: error.value, retryAfter: error.retryAfter,
            underlying: error)
    }

    fileprivate init(_ error: VaultCryptoError) {
        let code: Code =
            switch error.code {
            case .invalidPassword: .passwordUnusable
            case .invalidRecovery: .wrongSecret
            case .outOfMemory: .outOfMemory
            default: .storeCorrupt
            }
        self.init(code, error.description, objection: error.objection, underlying: error)
    }
}
