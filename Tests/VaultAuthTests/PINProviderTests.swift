import CredentialVault
import Testing
import VaultBase
import VaultTesting

/// The PIN by an account's id, and as a hardware provider.
@Suite struct PINProviderTests {
    private static let password = "tea at half past four"
    private let test = TestVault()

    private func secret(_ text: String) throws -> SecretBytes { try SecretBytes(utf8: text) }

    @Test func `when a PIN is replaced, then the old PIN fails`() async throws {
        let id = try await test.addAccount("alice", password: Self.password, pin: "8264")
        try await test.storage.setPIN(secret("7391"), of: id, with: .pin(secret("8264")))
        try await test.auth.login(id, with: .pin(secret("7391")))
        await #expect(throws: VaultError.self) { try await test.auth.login(id, with: .pin(secret("8264"))) }
    }

    @Test func `when a PIN provider is used, then wrong PINs count`() async throws {
        let id = try await test.addAccount("alice", password: Self.password)
        let pin = PINProvider()
        let unasked = ScriptedPrompt(nil)
        let none = await #expect(throws: VaultError.self) {
            try await test.auth.loginWithBiometrics(userID: "alice", using: pin, prompt: unasked)
        }
        #expect(none?.code == .notEnrolled && unasked.requests.isEmpty)
        try await test.storage.enableBiometricAccess(
            userID: "alice", password: secret(Self.password), using: pin, prompt: ScriptedPrompt("8264"))
        #expect(try await test.storage.hasPIN(id))
        let announced = Lock(0)
        let calls = test.keyService.calls
        let session = try await test.auth.loginWithBiometrics(
            userID: "alice", using: pin, prompt: ScriptedPrompt("8264")
        ) { announced.withLock { $0 += 1 } }
        #expect(session.isOpen && announced.withLock { $0 } == 1)
        #expect(test.keyService.calls == calls + 1, "one call, as any login")
        for left in [2, 1] {
            let wrong = await #expect(throws: VaultError.self) {
                try await test.auth.login(id, with: .hardware(pin, ScriptedPrompt("1111")))
            }
            #expect(wrong?.code == .wrongSecret && wrong?.unlockMethod == .pin && wrong?.guessesRemaining == left)
        }
        // The same slot: its own call sees the count.
        let wrong = await #expect(throws: VaultError.self) { try await test.auth.login(id, with: .pin(secret("2222"))) }
        #expect(wrong?.guessesRemaining == 0)
    }

    @Test func `when a PIN's prompt is cancelled, then biometrics failed`() async throws {
        try await test.addAccount("alice", password: Self.password, pin: "8264")
        let error = await #expect(throws: VaultError.self) {
            try await test.auth.loginWithBiometrics(userID: "alice", using: PINProvider(), prompt: ScriptedPrompt(nil))
        }
        #expect(error?.code == .cancelled && error?.isBiometricFailed == true)
    }

    @Test func `when offline opening is requested, then the PIN provider refuses`() async throws {
        let id = try await test.addAccount("alice", password: Self.password)
        let offline = await #expect(throws: VaultError.self) {
            try await test.storage.enableBiometricAccess(
                userID: "alice", password: secret(Self.password), using: PINProvider(), prompt: ScriptedPrompt("8264"),
                opensOffline: true)
        }
        #expect(offline?.code == .configurationInvalid)
        let short = await #expect(throws: VaultError.self) {
            try await test.storage.enableBiometricAccess(
                userID: "alice", password: secret(Self.password), using: PINProvider(), prompt: ScriptedPrompt("1"))
        }
        #expect(short?.code == .forbiddenByPolicy)
        #expect(try await !test.storage.hasPIN(id))
        await #expect(throws: BiometricError.self) {
            _ = try await PINProvider().protect(SecretBytes.random(count: 32), prompt: ScriptedPrompt("8264"))
        }
    }
}
