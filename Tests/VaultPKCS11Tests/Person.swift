#if PKCS11
    import Synchronization
    import Testing
    import VaultBiometric
    import VaultCrypto

    @testable import VaultPKCS11

    /// Somebody who types a PIN when asked.
    final class Person: BiometricPrompt {
        private let answer: @Sendable (PINRequest) async throws -> String
        private let action: @Sendable () -> Void
        private let asked = Mutex<(requests: [PINRequest], instructions: [String])>(([], []))

        /// What was asked, in order.
        var requests: [PINRequest] { asked.withLock { $0.requests } }
        /// What was to be done at the token.
        var instructions: [String] { asked.withLock { $0.instructions } }

        /// - Parameter action: what the person does when told to do something at the token.
        init(_ pin: String = SoftToken.pin, action: @escaping @Sendable () -> Void = {}) {
            answer = { _ in pin }
            self.action = action
        }

        /// - Parameter answer: what the person does before the PIN is typed, and the PIN.
        init(_ answer: @escaping @Sendable (PINRequest) async throws -> String) {
            self.answer = answer
            action = {}
        }

        func pin(_ request: PINRequest) async throws -> SecretBytes {
            asked.withLock { $0.requests.append(request) }
            return try SecretBytes(utf8: try await answer(request))
        }

        func act(_ instruction: String) async {
            asked.withLock { $0.instructions.append(instruction) }
            action()
        }
    }

    /// A test's secret: 32 random bytes.
    struct TestSecret {
        let bytes: [UInt8]

        init() { bytes = (0..<32).map { _ in UInt8.random(in: .min ... .max) } }

        func guarded() throws -> SecretBytes { try SecretBytes(copying: bytes) }
    }

    extension PKCS11Provider {
        /// With patience for a machine that is busy with other tests.
        init(_ uri: String, newKey: PKCS11KeyKind? = nil) {
            self.init(uri: uri, newKey: newKey, timeLimit: .seconds(120))
        }

        /// A protected secret.
        func protected(_ secret: TestSecret, by person: Person = Person()) async throws -> ProtectedSecret {
            try await protect(secret.guarded(), prompt: person)
        }

        func opened(_ protected: ProtectedSecret, by person: Person = Person()) async throws -> [UInt8] {
            try await unprotect(protected, prompt: person).withUnsafeBytes { Array($0) }
        }

        /// Why it does not open.
        func failure(
            _ protected: ProtectedSecret, by person: Person = Person(),
            sourceLocation: SourceLocation = #_sourceLocation
        ) async throws -> BiometricError {
            let error = await #expect(throws: BiometricError.self, sourceLocation: sourceLocation) {
                _ = try await unprotect(protected, prompt: person)
            }
            return try #require(error, sourceLocation: sourceLocation)
        }

        /// Why it does not protect.
        func refusal(
            _ secret: TestSecret, by person: Person = Person(), sourceLocation: SourceLocation = #_sourceLocation
        ) async throws -> BiometricError {
            let error = await #expect(throws: BiometricError.self, sourceLocation: sourceLocation) {
                _ = try await protect(secret.guarded(), prompt: person)
            }
            return try #require(error, sourceLocation: sourceLocation)
        }
    }
#endif
