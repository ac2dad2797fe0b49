import CredentialVault
import Testing
import VaultAuth
import VaultBiometric
import VaultDevelopment
import VaultTesting

/// An app may hold an ``Account`` for a long time. Only the stored keyslots open it.
struct StaleAccountTests {
    @Test func `when an account is stale, then its old PIN fails`() async throws {
        try await withBench { bench in
            try await bench.register()
            let stale = try await bench.addPIN()
            try await bench.addPIN("7391")
            await bench.vault.auth.lock()
            let old = await failure { try await bench.unlock(stale, with: .pin(Bench.pin)) }
            #expect(old?.code == .wrongSecret)
            #expect(bench.vault.auth.session == nil)
            #expect(try await bench.unlock(stale, with: .pin("7391")).isOpen)
        }
    }

    @Test func `when an account is stale, then the stored keyslots count`() async throws {
        try await withBench { bench in
            let before = try await bench.register().id
            let stale = try await bench.account()
            let withPIN = try await bench.addPIN()
            #expect(try await bench.unlock(stale, with: .pin(Bench.pin)).isOpen)
            let pin = try #require(withPIN.keyslot(.pin))
            try await bench.vault.accounts.removeKeyslot(pin.id, of: before)
            let removed = await failure { try await bench.unlock(withPIN, with: .pin(Bench.pin)) }
            #expect(removed?.code == .notEnrolled)
        }
    }

    @Test func `when the account is gone, then its copy opens nothing`() async throws {
        try await withBench { bench in
            try await bench.register()
            let stale = try await bench.account()
            try await bench.vault.storage.clear(userID: "alice")
            let before = bench.keyService.calls
            let password = try UnlockMethod.password(SecretBytes(utf8: Bench.password))
            #expect(
                await failure { try await bench.unlock(stale, with: password) }?.code == .accountNotFound)
            // After a new registration it is another account, even with the same password.
            try await bench.register()
            #expect(await failure { try await bench.unlock(stale, with: password) }?.code == .busy)
            #expect(bench.keyService.calls == before + 1, "for the new key")
        }
    }

    @Test func `when hardware is removed during PIN entry, then login fails`() async throws {
        try await withBench { bench in
            try await bench.register()
            let token = try ScriptedHardwareKey(pin: "123456")
            try await bench.vault.storage.enableBiometricAccess(
                userID: "alice", password: SecretBytes(utf8: Bench.password), using: token,
                prompt: ScriptedPrompt("123456"))
            await bench.vault.auth.lock()
            let prompt = InterruptedPrompt {
                try await bench.vault.storage.disableBiometricAccess(userID: "alice")
            }
            let error = await failure { _ = try await bench.login(with: .hardware(token, prompt)) }
            #expect(error != nil)
            #expect(bench.vault.auth.session == nil)
        }
    }

    @Test func `when offline hardware is removed meanwhile, then login reports busy`() async throws {
        try await withBench { bench in
            try await bench.register()
            let token = try ScriptedHardwareKey(pin: "123456")
            try await bench.vault.storage.enableBiometricAccess(
                userID: "alice", password: SecretBytes(utf8: Bench.password), using: token,
                prompt: ScriptedPrompt("123456"), opensOffline: true)
            await bench.vault.auth.lock()
            let prompt = InterruptedPrompt {
                try await bench.vault.storage.disableBiometricAccess(userID: "alice")
            }
            let error = await failure { _ = try await bench.login(with: .hardware(token, prompt)) }
            #expect(error?.code == .busy)
            #expect(bench.vault.auth.session == nil)
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

extension Bench {
    /// Opens an account that was read earlier.
    @discardableResult
    fileprivate func unlock(_ account: Account, with method: UnlockMethod) async throws -> Session {
        try await #require(vault.auth as? Auth).unlock(account, with: method)
    }
}
