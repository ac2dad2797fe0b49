#if FIDO2
    import Synchronization
    import Testing
    import VaultBiometric
    import VaultCrypto

    @testable import VaultFIDO2

    /// Somebody who types a PIN when asked, and touches what blinks.
    final class Person: BiometricPrompt {
        private let answer: @Sendable (PINRequest) async throws -> String
        private let action: @Sendable (String) async -> Void
        private let asked = Mutex<(requests: [PINRequest], instructions: [String])>(([], []))

        /// What was asked, in order.
        var requests: [PINRequest] { asked.withLock { $0.requests } }
        /// What was to be done, in order.
        var instructions: [String] { asked.withLock { $0.instructions } }

        convenience init(_ pin: String) { self.init { _ in pin } }

        /// - Parameters:
        ///   - answer: what the person does before the PIN is typed, and the PIN.
        ///   - action: what the person does when told to touch the key.
        init(
            _ answer: @escaping @Sendable (PINRequest) async throws -> String,
            action: @escaping @Sendable (String) async -> Void = { _ in }
        ) {
            self.answer = answer
            self.action = action
        }

        func pin(_ request: PINRequest) async throws -> SecretBytes {
            asked.withLock { $0.requests.append(request) }
            return try SecretBytes(utf8: try await answer(request))
        }

        func act(_ instruction: String) async {
            asked.withLock { $0.instructions.append(instruction) }
            await action(instruction)
        }
    }

    /// A test's secret: 32 random bytes.
    struct TestSecret {
        let bytes: [UInt8]

        init() { bytes = (0..<32).map { _ in UInt8.random(in: .min ... .max) } }

        func guarded() throws -> SecretBytes { try SecretBytes(copying: bytes) }
    }

    extension FIDO2Provider {
        /// With patience for a machine that is busy with other tests.
        init(
            _ port: SoftwarePort, _ others: SoftwarePort..., allowsTouchOnly: Bool = false,
            clock: any Clock<Duration> = ContinuousClock()
        ) {
            self.init(
                devices: SoftwarePorts(ports: [port] + others), allowsTouchOnly: allowsTouchOnly,
                timeLimit: .seconds(120),
                touchLimit: .seconds(120), clock: clock)
        }

        /// A protected secret.
        func protected(_ secret: TestSecret, pin: String) async throws -> ProtectedSecret {
            try await protect(secret.guarded(), prompt: Person(pin))
        }

        func opened(_ protected: ProtectedSecret, pin: String) async throws -> [UInt8] {
            try await opened(protected, by: Person(pin))
        }

        func opened(_ protected: ProtectedSecret, by person: Person) async throws -> [UInt8] {
            try await unprotect(protected, prompt: person).withUnsafeBytes { Array($0) }
        }

        /// Why it does not open.
        func failure(
            _ protected: ProtectedSecret, pin: String, sourceLocation: SourceLocation = #_sourceLocation
        ) async throws -> BiometricError {
            try await failure(protected, by: Person(pin), sourceLocation: sourceLocation)
        }

        func failure(
            _ protected: ProtectedSecret, by person: Person, sourceLocation: SourceLocation = #_sourceLocation
        ) async throws -> BiometricError {
            let error = await #expect(throws: BiometricError.self, sourceLocation: sourceLocation) {
                _ = try await unprotect(protected, prompt: person)
            }
            return try #require(error, sourceLocation: sourceLocation)
        }

        /// Why it cannot be enrolled.
        func refusal(
            _ secret: TestSecret, by person: Person, sourceLocation: SourceLocation = #_sourceLocation
        ) async throws -> BiometricError {
            let error = await #expect(throws: BiometricError.self, sourceLocation: sourceLocation) {
                _ = try await protect(secret.guarded(), prompt: person)
            }
            return try #require(error, sourceLocation: sourceLocation)
        }
    }
#endif
