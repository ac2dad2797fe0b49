package import Testing
package import VaultBiometric
package import VaultCrypto

/// A test's secret: 32 random bytes.
package struct TestSecret: Sendable {
    package let bytes: [UInt8]

    package init() { bytes = (0..<32).map { _ in UInt8.random(in: .min ... .max) } }

    package func guarded() throws -> SecretBytes { try SecretBytes(copying: bytes) }
}

extension BiometricProvider {
    /// A protected secret.
    package func protected(
        _ secret: TestSecret, by person: any BiometricPrompt = Person()
    ) async throws -> ProtectedSecret {
        try await protect(secret.guarded(), prompt: person)
    }

    package func protected(_ secret: TestSecret, pin: String) async throws -> ProtectedSecret {
        try await protected(secret, by: Person(pin))
    }

    /// The protected bytes.
    package func opened(
        _ protected: ProtectedSecret, by person: any BiometricPrompt = Person()
    ) async throws -> [UInt8] {
        try await unprotect(protected, prompt: person).withUnsafeBytes { Array($0) }
    }

    package func opened(_ protected: ProtectedSecret, pin: String) async throws -> [UInt8] {
        try await opened(protected, by: Person(pin))
    }

    /// The error of a failed opening.
    package func failure(
        _ protected: ProtectedSecret, by person: any BiometricPrompt = Person(),
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> BiometricError {
        let error = await #expect(throws: BiometricError.self, sourceLocation: sourceLocation) {
            _ = try await unprotect(protected, prompt: person)
        }
        return try #require(error, sourceLocation: sourceLocation)
    }

    package func failure(
        _ protected: ProtectedSecret, pin: String, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> BiometricError {
        try await failure(protected, by: Person(pin), sourceLocation: sourceLocation)
    }

    /// The error of a failed protection.
    package func refusal(
        _ secret: TestSecret, by person: any BiometricPrompt = Person(),
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> BiometricError {
        let error = await #expect(throws: BiometricError.self, sourceLocation: sourceLocation) {
            _ = try await protect(secret.guarded(), prompt: person)
        }
        return try #require(error, sourceLocation: sourceLocation)
    }
}
