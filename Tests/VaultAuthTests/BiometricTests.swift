import CredentialVault
import Testing
import VaultAuth
import VaultAuthTestSupport
import VaultBase
import VaultDevelopment
import VaultTesting

/// Logging in with hardware, as in Trifork Identity Manager.
struct BiometricTests {
    private let pin = "123456"

    private func enable(_ bench: Bench, _ token: ScriptedHardwareKey) async throws {
        try await bench.vault.storage.enableBiometricAccess(
            userID: "alice", password: SecretBytes(utf8: Bench.password), using: token, prompt: ScriptedPrompt(pin))
    }

    @Test func `when hardware access is enabled, then it opens the account`() async throws {
        try await withBench { bench in
            let token = try ScriptedHardwareKey(pin: pin)
            try await bench.register()
            #expect(try await !bench.vault.storage.hasBiometricAccess(userID: "alice"))
            try await enable(bench, token)
            #expect(try await bench.vault.storage.hasBiometricAccess(userID: "alice"))
            let announced = Lock(0)
            let before = bench.keyService.calls
            let session = try await bench.vault.auth.loginWithBiometrics(
                userID: "alice", using: token, prompt: ScriptedPrompt(pin)
            ) { announced.withLock { $0 += 1 } }
            #expect(session.isConfirmed && announced.withLock { $0 } == 1)
            #expect(bench.keyService.calls == before + 1, "an unlock leaves a trace at the key service")
            let stored = try await bench.vault.storage.storedRefreshTokenViaBiometrics(
                userID: "alice", using: token, prompt: ScriptedPrompt(pin))
            #expect(try await session.refreshToken().value == stored.value)
            try await bench.vault.storage.disableBiometricAccess(userID: "alice")
            #expect(try await !bench.vault.storage.hasBiometricAccess(userID: "alice"))
            let error = await failure {
                try await bench.vault.auth.loginWithBiometrics(
                    userID: "alice", using: token, prompt: ScriptedPrompt(pin))
            }
            #expect(error?.code == .notEnrolled)
            try await bench.login()
        }
    }

    @Test func `when no new token is wanted, then no refresh happens`() async throws {
        try await withBench { bench in
            let token = try ScriptedHardwareKey(pin: pin)
            try await bench.register()
            try await enable(bench, token)
            let session = try await bench.vault.auth.loginWithBiometrics(
                userID: "alice", using: token, prompt: ScriptedPrompt(pin), storeNewRefreshToken: false)
            #expect(session.isOpen)
            #expect(await bench.refreshes == [])
        }
    }

    @Test func `when hardware reports an error, then no guess is counted`() async throws {
        try await withBench { bench in
            let token = try ScriptedHardwareKey(pin: pin)
            try await bench.register()
            try await enable(bench, token)
            let before = bench.keyService.calls
            func error(_ answer: String?) async -> VaultError? {
                await failure {
                    try await bench.vault.auth.loginWithBiometrics(
                        userID: "alice", using: token, prompt: ScriptedPrompt(answer))
                }
            }
            let wrong = await error("000000")
            #expect(wrong?.code == .wrongSecret && wrong?.guessesRemaining == 2)
            #expect(await error(nil)?.code == .cancelled)
            token.isPluggedIn = false
            #expect(await error(pin)?.code == .hardwareMissing)
            token.isPluggedIn = true
            token.isReplaced = true
            #expect(await error(pin)?.code == .hardwareReplaced)
            token.isReplaced = false
            token.guessesLeft = 0
            token.lockoutEndsAfter = .seconds(600)
            let locked = await error(pin)
            #expect(locked?.code == .hardwareLocked)
            #expect(locked?.retryAfter == Duration.seconds(600))
            #expect(bench.keyService.calls == before)
            // The password still works.
            try await bench.login()
        }
    }

    /// For some tokens the public key is enough to make a keyslot. An attacker who can write to the disk can add such a
    /// keyslot.
    @Test func `when a keyslot is forged, then it opens nothing`() async throws {
        try await withBench { bench in
            let token = try ScriptedHardwareKey(pin: pin)
            try await bench.register()
            try await bench.putNote()
            let account = try await bench.vault.storage.account(userID: "alice")
            let forged = try await ReleasedKeys(service: bench.keyService).make(
                .hardware(token, prompt: ScriptedPrompt(pin), needsKeyService: true, at: bench.clock.now), for: account,
                vaultKey: VaultKey.random())
            try await bench.store.apply([.putKeyslot(forged)], to: account.id)
            let method = UnlockMethod.hardware(token, ScriptedPrompt(pin))
            let opened = await failure { try await bench.vault.auth.unlock(userID: "alice", with: method) }
            #expect(opened?.code == .storeCorrupt)
            let before = try await bench.store.item(.refreshToken, of: account.id)
            let refreshToken = try await bench.signIn()
            let stored = await failure {
                try await bench.vault.storage.storeRefreshToken(refreshToken, with: method)
            }
            #expect(stored?.code == .storeCorrupt)
            #expect(try await bench.store.item(.refreshToken, of: account.id) == before)
            // The keyslot still opens nothing after the attacker removes the evidence.
            try await bench.store.apply([.removeItem(.idTokenClaims)], to: account.id)
            let bare = await failure { try await bench.vault.auth.unlock(userID: "alice", with: method) }
            #expect(bare?.code == .storeCorrupt)
        }
    }

    @Test func `when two tokens are enabled, then either opens the account`() async throws {
        try await withBench { bench in
            let (first, second) = (try ScriptedHardwareKey(pin: pin), try ScriptedHardwareKey(pin: pin))
            try await bench.register()
            try await enable(bench, first)
            try await enable(bench, second)
            #expect(try await bench.kinds() == ["password", "pkcs11", "pkcs11"])
            for token in [first, second] {
                let session = try await bench.vault.auth.loginWithBiometrics(
                    userID: "alice", using: token, prompt: ScriptedPrompt(pin))
                #expect(session.isOpen)
            }
        }
    }

    @Test func `when hardware needs no key service, then it opens offline`() async throws {
        try await withBench { bench in
            let token = try ScriptedHardwareKey(pin: pin)
            try await bench.register()
            try await bench.vault.storage.enableBiometricAccess(
                userID: "alice", password: SecretBytes(utf8: Bench.password), using: token,
                prompt: ScriptedPrompt(pin), opensOffline: true)
            bench.keyService.isReachable = false
            bench.network.isCut.withLock { $0 = true }
            let session = try await bench.vault.auth.loginWithBiometrics(
                userID: "alice", using: token, prompt: ScriptedPrompt(pin))
            #expect(session.isOffline)
            bench.clock.advance(by: 15 * 86_400)
            let error = await failure {
                try await bench.vault.auth.loginWithBiometrics(
                    userID: "alice", using: token, prompt: ScriptedPrompt(pin))
            }
            #expect(error?.code == .offlineTooLong)
        }
    }

    @Test func `when the key service loses the key, then hardware fails`() async throws {
        try await withBench { bench in
            let token = try ScriptedHardwareKey(pin: pin)
            try await bench.register()
            try await enable(bench, token)
            bench.keyService.deleteAllKeys()
            let error = await failure {
                try await bench.vault.auth.loginWithBiometrics(
                    userID: "alice", using: token, prompt: ScriptedPrompt(pin))
            }
            #expect(error?.code == .keyMissing)
        }
    }
}
