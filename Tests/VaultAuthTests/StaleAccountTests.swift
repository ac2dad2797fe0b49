import CredentialVault
import Testing
import VaultAuth
import VaultBiometric
import VaultDevelopment
import VaultTesting

/// An app may hold an ``Account`` for a long time. Only the stored keyslots open it.
struct StaleAccountTests {
    @Test func `when an account is stale, then its old PIN fails`() async throws {
        try await withFixture { fixture in
            try await fixture.register()
            let stale = try await fixture.addPIN()
            try await fixture.addPIN("7391")
            await fixture.vault.auth.lock()
            let old = await failure { try await fixture.unlock(stale, with: .pin(Fixture.pin)) }
            #expect(old?.code == .wrongSecret)
            #expect(fixture.vault.auth.session == nil)
            #expect(try await fixture.unlock(stale, with: .pin("7391")).isOpen)
        }
    }

    @Test func `when an account is stale, then the stored keyslots count`() async throws {
        try await withFixture { fixture in
            let before = try await fixture.register().id
            let stale = try await fixture.account()
            let withPIN = try await fixture.addPIN()
            #expect(try await fixture.unlock(stale, with: .pin(Fixture.pin)).isOpen)
            let pin = try #require(withPIN.keyslot(.pin))
            try await fixture.vault.accounts.removeKeyslot(pin.id, of: before)
            let removed = await failure { try await fixture.unlock(withPIN, with: .pin(Fixture.pin)) }
            #expect(removed?.code == .notEnrolled)
        }
    }

    @Test func `when the account is gone, then its copy opens nothing`() async throws {
        try await withFixture { fixture in
            try await fixture.register()
            let stale = try await fixture.account()
            try await fixture.vault.storage.clear(userID: "alice")
            let before = fixture.keyService.calls
            let password = try UnlockMethod.password(SecretBytes(utf8: Fixture.password))
            #expect(
                await failure { try await fixture.unlock(stale, with: password) }?.code == .accountNotFound)
            // After a new registration it is another account, even with the same password.
            try await fixture.register()
            #expect(await failure { try await fixture.unlock(stale, with: password) }?.code == .busy)
            #expect(fixture.keyService.calls == before + 1, "for the new key")
        }
    }

    @Test func `when hardware is removed during PIN entry, then login fails`() async throws {
        try await withFixture { fixture in
            try await fixture.register()
            let token = try ScriptedHardwareKey(pin: "123456")
            try await fixture.vault.storage.enableBiometricAccess(
                userID: "alice", password: SecretBytes(utf8: Fixture.password), using: token,
                prompt: ScriptedPrompt("123456"))
            await fixture.vault.auth.lock()
            let prompt = InterruptedPrompt {
                try await fixture.vault.storage.disableBiometricAccess(userID: "alice")
            }
            let error = await failure { _ = try await fixture.login(with: .hardware(token, prompt)) }
            #expect(error != nil)
            #expect(fixture.vault.auth.session == nil)
        }
    }

    @Test func `when offline hardware is removed meanwhile, then login reports busy`() async throws {
        try await withFixture { fixture in
            try await fixture.register()
            let token = try ScriptedHardwareKey(pin: "123456")
            try await fixture.vault.storage.enableBiometricAccess(
                userID: "alice", password: SecretBytes(utf8: Fixture.password), using: token,
                prompt: ScriptedPrompt("123456"), opensOffline: true)
            await fixture.vault.auth.lock()
            let prompt = InterruptedPrompt {
                try await fixture.vault.storage.disableBiometricAccess(userID: "alice")
            }
            let error = await failure { _ = try await fixture.login(with: .hardware(token, prompt)) }
            #expect(error?.code == .busy)
            #expect(fixture.vault.auth.session == nil)
        }
    }
}

/// A person who does something else before typing the PIN.
private struct InterruptedPrompt: BiometricPrompt {
    let first: @Sendable () async throws -> Void

    func pin(_ request: PINRequest) async throws -> SecretBytes {
        try await first()
        return try SecretBytes(utf8: "123456")
    }

    func act(_ instruction: String) async {}
}

extension Fixture {
    /// Opens an account that was read earlier.
    @discardableResult
    fileprivate func unlock(_ account: Account, with method: UnlockMethod) async throws -> Session {
        try await #require(vault.auth as? Auth).unlock(account, with: method)
    }
}
