internal import VaultBiometric
internal import VaultCrypto

/// A provider that announces when the hardware has opened a secret.
struct AnnouncedProvider: BiometricProvider {
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

/// A prompt that announces when the person has typed a PIN.
struct AnnouncedPrompt: BiometricPrompt {
    let base: any BiometricPrompt
    let isDone: @Sendable () -> Void

    func pin(_ request: PINRequest) async throws -> SecretBytes {
        let pin = try await base.pin(request)
        isDone()
        return pin
    }

    func act(_ instruction: String) async { await base.act(instruction) }
}
