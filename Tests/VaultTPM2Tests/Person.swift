#if TPM2
    import Synchronization
    import Testing
    import VaultBiometric
    import VaultCrypto

    @testable import VaultTPM2

    /// Somebody who types a PIN when asked.
    final class Person: BiometricPrompt {
        private let answer: @Sendable (PINRequest) async throws -> String
        private let asked = Mutex<[PINRequest]>([])

        /// What was asked, in order.
        var requests: [PINRequest] { asked.withLock { $0 } }

        init(_ pin: String) { answer = { _ in pin } }

        /// - Parameter answer: what the person does before the PIN is typed, and the PIN.
        init(_ answer: @escaping @Sendable (PINRequest) async throws -> String) { self.answer = answer }

        func pin(_ request: PINRequest) async throws -> SecretBytes {
            asked.withLock { $0.append(request) }
            return try SecretBytes(utf8: try await answer(request))
        }

        func act(_ instruction: String) async {}
    }

    /// A test's secret: 32 random bytes.
    struct TestSecret {
        let bytes: [UInt8]

        init() { bytes = (0..<32).map { _ in UInt8.random(in: .min ... .max) } }

        func guarded() throws -> SecretBytes { try SecretBytes(copying: bytes) }
    }

    extension TPM2Provider {
        /// With patience for a machine that is busy with other tests.
        init(_ tcti: String, pcrs: [Int] = []) { self.init(tcti: tcti, pcrs: pcrs, timeLimit: .seconds(120)) }

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
    }

    extension SoftwareTPM {
        /// How many commands it takes to open this.
        func commandsToOpen(_ protected: ProtectedSecret, pin: String) async throws -> Int {
            let proxy = try BusProxy(to: self)
            defer { proxy.stop() }
            _ = try await TPM2Provider(proxy.tcti).opened(protected, pin: pin)
            try #require(proxy.codes.count > 8)
            return proxy.codes.count
        }
    }
#endif
