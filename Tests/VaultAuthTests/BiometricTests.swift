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

    private func enable(_ fixture: Fixture, _ token: ScriptedHardwareKey) async throws {
        try await fixture.vault.storage.enableBiometricAccess(
            userID: "alice", password: SecretBytes(utf8: Fixture.password), using: token, prompt: ScriptedPrompt(pin))
    }

    @Test func `when hardware access is enabled, then it opens the account`() async throws {
        try await withFixture { fixture in
            let token = try ScriptedHardwareKey(pin: pin)
            try await fixture.register()
            #expect(try await !fixture.vault.storage.hasBiometricAccess(userID: "alice"))
            try await enable(fixture, token)
            #expect(try await fixture.vault.storage.hasBiometricAccess(userID: "alice"))
            let announced = Lock(0)
            let before = fixture.keyService.calls
            let session = try await fixture.vault.auth.loginWithBiometrics(
                userID: "alice", using: token, prompt: ScriptedPrompt(pin)
            ) { announced.withLock { $0 += 1 } }
            #expect(session.isConfirmed && announced.withLock { $0 } == 1)
            #expect(fixture.keyService.calls == before + 1, "an unlock leaves a trace at the key service")
            let stored = try await fixture.vault.storage.storedRefreshTokenViaBiometrics(
                userID: "alice", using: token, prompt: ScriptedPrompt(pin))
            #expect(try await session.refreshToken().value == stored.value)
            try await fixture.vault.storage.disableBiometricAccess(userID: "alice")
            #expect(try await !fixture.vault.storage.hasBiometricAccess(userID: "alice"))
            let error = await failure {
                try await fixture.vault.auth.loginWithBiometrics(
                    userID: "alice", using: token, prompt: ScriptedPrompt(pin))
            }
            #expect(error?.code == .notEnrolled)
            try await fixture.login()
        }
    }

    @Test func `when no new token is wanted, then no refresh happens`() async throws {
        try await withFixture { fixture in
            let token = try ScriptedHardwareKey(pin: pin)
            try await fixture.register()
            try await enable(fixture, token)
            let session = try await fixture.vault.auth.loginWithBiometrics(
                userID: "alice", using: token, prompt: ScriptedPrompt(pin), storeNewRefreshToken: false)
            #expect(session.isOpen)
            #expect(await fixture.refreshes == [])
        }
    }

    @Test func `when hardware reports an error, then no guess is counted`() async throws {
        try await withFixture { fixture in
            let token = try ScriptedHardwareKey(pin: pin)
            try await fixture.register()
            try await enable(fixture, token)
            let before = fixture.keyService.calls
            func error(_ answer: String?) async -> VaultError? {
                await failure {
                    try await fixture.vault.auth.loginWithBiometrics(
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
            #expect(fixture.keyService.calls == before)
            // The password still works.
            try await fixture.login()
        }
    }

    @Test func `when a person cancels the hardware's prompt, then biometrics failed`() async throws {
        try await withFixture { fixture in
            let token = try ScriptedHardwareKey(pin: pin)
            try await fixture.register()
            let unadded = await failure {
                try await fixture.vault.storage.enableBiometricAccess(
                    userID: "alice", password: SecretBytes(utf8: Fixture.password), using: token,
                    prompt: ScriptedPrompt(nil))
            }
            #expect(unadded?.code == .cancelled && unadded?.isBiometricFailed == true)
            try await enable(fixture, token)
            func login(_ answer: String?) async -> VaultError? {
                await failure {
                    try await fixture.vault.auth.loginWithBiometrics(
                        userID: "alice", using: token, prompt: ScriptedPrompt(answer))
                }
            }
            let cancelled = await login(nil)
            #expect(cancelled?.code == .cancelled && cancelled?.unlockMethod == .pkcs11)
            #expect(cancelled?.isBiometricFailed == true)
            #expect(await login("000000")?.isBiometricFailed == true)
            token.isPluggedIn = false
            #expect(await login(pin)?.isBiometricFailed == true)
        }
    }

    @Test func `when no hardware was asked, then biometrics did not fail`() async throws {
        try await withFixture { fixture in
            try await fixture.register()
            let wrong = await failure { try await fixture.login(password: "not this one") }
            #expect(wrong?.isWrongSecret == true && wrong?.isBiometricFailed == false)
            // A sign-in in the browser.
            #expect(!VaultError(.cancelled, "Cancelled.").isBiometricFailed)
        }
    }

    /// For some tokens the public key is enough to make a keyslot. An attacker who can write to the disk can add such a
    /// keyslot.
    @Test func `when a keyslot is forged, then it opens nothing`() async throws {
        try await withFixture { fixture in
            let token = try ScriptedHardwareKey(pin: pin)
            try await fixture.register()
            try await fixture.putNote()
            let account = try await fixture.vault.storage.account(userID: "alice")
            let forged = try await ReleasedKeys(service: fixture.keyService).make(
                .hardware(token, prompt: ScriptedPrompt(pin), needsKeyService: true, at: fixture.clock.now),
                for: account,
                vaultKey: VaultKey.random())
            try await fixture.store.apply([.putKeyslot(forged)], to: account.id)
            let method = UnlockMethod.hardware(token, ScriptedPrompt(pin))
            let opened = await failure { try await fixture.vault.auth.unlock(userID: "alice", with: method) }
            #expect(opened?.code == .storeCorrupt)
            let before = try await fixture.store.item(.refreshToken, of: account.id)
            let refreshToken = try await fixture.signIn()
            let stored = await failure {
                try await fixture.vault.storage.storeRefreshToken(refreshToken, with: method)
            }
            #expect(stored?.code == .storeCorrupt)
            #expect(try await fixture.store.item(.refreshToken, of: account.id) == before)
            // The keyslot still opens nothing after the attacker removes the evidence.
            try await fixture.store.apply([.removeItem(.idTokenClaims)], to: account.id)
            let bare = await failure { try await fixture.vault.auth.unlock(userID: "alice", with: method) }
            #expect(bare?.code == .storeCorrupt)
        }
    }

    @Test func `when two tokens are enabled, then either opens the account`() async throws {
        try await withFixture { fixture in
            let (first, second) = (try ScriptedHardwareKey(pin: pin), try ScriptedHardwareKey(pin: pin))
            try await fixture.register()
            try await enable(fixture, first)
            try await enable(fixture, second)
            #expect(try await fixture.kinds() == ["password", "pkcs11", "pkcs11"])
            for token in [first, second] {
                let session = try await fixture.vault.auth.loginWithBiometrics(
                    userID: "alice", using: token, prompt: ScriptedPrompt(pin))
                #expect(session.isOpen)
            }
        }
    }

    @Test func `when hardware needs no key service, then it opens offline`() async throws {
        try await withFixture { fixture in
            let token = try ScriptedHardwareKey(pin: pin)
            try await fixture.register()
            try await fixture.vault.storage.enableBiometricAccess(
                userID: "alice", password: SecretBytes(utf8: Fixture.password), using: token,
                prompt: ScriptedPrompt(pin), opensOffline: true)
            fixture.keyService.isReachable = false
            fixture.network.isCut.withLock { $0 = true }
            let session = try await fixture.vault.auth.loginWithBiometrics(
                userID: "alice", using: token, prompt: ScriptedPrompt(pin))
            #expect(session.isOffline)
            fixture.clock.advance(by: 15 * 86_400)
            let error = await failure {
                try await fixture.vault.auth.loginWithBiometrics(
                    userID: "alice", using: token, prompt: ScriptedPrompt(pin))
            }
            #expect(error?.code == .offlineTooLong)
        }
    }

    @Test func `when the key service loses the key, then hardware fails`() async throws {
        try await withFixture { fixture in
            let token = try ScriptedHardwareKey(pin: pin)
            try await fixture.register()
            try await enable(fixture, token)
            fixture.keyService.deleteAllKeys()
            let error = await failure {
                try await fixture.vault.auth.loginWithBiometrics(
                    userID: "alice", using: token, prompt: ScriptedPrompt(pin))
            }
            #expect(error?.code == .keyMissing)
        }
    }
}
