public import VaultBiometric
internal import VaultCrypto

extension Auth {
    /// Logs in again with hardware.
    ///
    /// - Parameters:
    ///   - provider: the hardware.
    ///   - prompt: asks the person for its PIN, and tells when it is to be touched.
    ///   - storeNewRefreshToken: whether to ask the provider for new tokens now. With false the account is opened, and the
    ///     provider is asked when an access token is needed that is not stored. A refresh token that the provider renews is
    ///     stored in either case: it would be lost otherwise.
    ///   - willBeginNetworkRequests: called once, when the hardware has done its part.
    /// - Throws: ``VaultError``: as ``login(userID:with:)``.
    @discardableResult
    public func loginWithBiometrics(
        userID: String, using provider: any BiometricProvider, prompt: any BiometricPrompt,
        storeNewRefreshToken: Bool = true, willBeginNetworkRequests: @escaping @Sendable () -> Void = {}
    ) async throws -> Session {
        let announced = AnnouncedProvider(base: provider, isDone: willBeginNetworkRequests)
        let method = UnlockMethod.hardware(announced, prompt)
        return storeNewRefreshToken
            ? try await login(userID: userID, with: method) : try await unlock(userID: userID, with: method)
    }
}

/// Tells when the hardware has opened a secret.
private struct AnnouncedProvider: BiometricProvider {
    let base: any BiometricProvider
    let isDone: @Sendable () -> Void

    var kind: String { base.kind }
    var limitsGuesses: Bool { base.limitsGuesses }

    func guessLimit() async throws -> GuessLimit { try await base.guessLimit() }

    func availability(of protected: ProtectedSecret?) async -> BiometricAvailability {
        await base.availability(of: protected)
    }

    func protect(_ secret: borrowing SecretBytes, prompt: any BiometricPrompt) async throws -> ProtectedSecret {
        try await base.protect(secret, prompt: prompt)
    }

    func unprotect(_ protected: ProtectedSecret, prompt: any BiometricPrompt) async throws -> SecretBytes {
        let secret = try await base.unprotect(protected, prompt: prompt)
        isDone()
        return secret
    }
}
