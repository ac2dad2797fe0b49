import CredentialVault
import TestSupport
import Testing
import VaultAuth
import VaultDevelopment
import VaultTesting

extension Fixture {
    /// Adds that many hardware tokens.
    fileprivate func addTokens(_ count: Int) async throws {
        for _ in 0..<count {
            try await vault.storage.enableBiometricAccess(
                userID: "alice", password: SecretBytes(utf8: Self.password), using: ScriptedHardwareKey(pin: Self.pin),
                prompt: ScriptedPrompt(Self.pin))
        }
    }

    fileprivate func removePassword() async throws {
        let slot = try #require(await account().passwordKeyslot)
        try await vault.accounts.removeKeyslot(slot.id, of: id())
    }
}

/// After any order of removals, one unlock method is left.
@Suite(.timeLimit(.minutes(1))) struct LastUnlockMethodTests {
    @Test func `when hardware is the only unlock method, then it stays`() async throws {
        try await withFixture { fixture in
            try await fixture.register()
            try await fixture.addTokens(2)
            try await fixture.removePassword()
            let storage = fixture.vault.storage
            #expect(
                await failure { try await storage.disableBiometricAccess(userID: "alice") }?.code == .lastUnlockMethod)
            #expect(try await fixture.kinds() == ["pkcs11", "pkcs11"])
        }
    }

    @Test func `when only an expiring method would remain, then removal fails`() async throws {
        try await withFixture { fixture in
            try await fixture.register()
            let accounts = try fixture.vault.accounts
            let token = try ScriptedHardwareKey(pin: "123456")
            try await accounts.addHardware(
                token, prompt: ScriptedPrompt("123456"), to: fixture.account(), vaultKey: fixture.vaultKey(),
                opensOffline: true)
            #expect(await failure { try await fixture.removePassword() }?.code == .lastUnlockMethod)
            #expect(try await fixture.kinds() == ["password", "pkcs11"])
        }
    }

    @Test func `when another method exists, then hardware goes in one change`() async throws {
        try await withFixture { fixture in
            try await fixture.register()
            try await fixture.addTokens(2)
            try await fixture.addOffline()
            let changes = Counter()
            let store = WatchedStore(base: fixture.store) { _ in changes.increment() }
            let storage = try await fixture.anotherVault(store: store).storage
            try await storage.disableBiometricAccess(userID: "alice")
            #expect(changes.value == 1)
            #expect(try await fixture.kinds() == ["offline", "password"])
            // The unlock method is already gone, which is no error.
            try await storage.disableBiometricAccess(userID: "alice")
        }
    }

    @Test(arguments: [false, true])
    func `when two programs remove unlock methods, then one stays`(disablesHardware: Bool) async throws {
        try await withFixtureOnDisk { fixture, folder in
            try await fixture.register()
            try await fixture.addPIN()
            if disablesHardware { try await fixture.addTokens(2) }
            let id = try await fixture.id()
            let account = try await fixture.account()
            let (password, pin) = try (#require(account.passwordKeyslot), #require(account.keyslot(.pin)))
            if disablesHardware { try await fixture.vault.accounts.removeKeyslot(pin.id, of: id) }

            // Without the lock, the second program would look after the first has looked and before it has written.
            let (stopped, stops) = AsyncStream<Void>.makeStream()
            var base = try WatchedStore(base: SQLiteStore(folder: folder)) { _ in }
            base.beforeLocking = { stops.finish() }
            let second = try await fixture.anotherVault(store: base).accounts
            let (results, result) = AsyncStream<VaultError?>.makeStream()
            let first = try await fixture.anotherVault(
                store: WatchedStore(base: fixture.store) { _ in
                    Task {
                        let error = await failure { try await second.removeKeyslot(password.id, of: id) }
                        stops.finish()
                        result.yield(error)
                    }
                    for await _ in stopped {}
                })
            if disablesHardware {
                try await first.storage.disableBiometricAccess(userID: "alice")
            } else {
                try await first.accounts.removeKeyslot(pin.id, of: id)
            }
            let error = await results.first { _ in true }
            #expect(error??.code == .lastUnlockMethod)
            #expect(try await fixture.kinds() == ["password"])
            #expect(try await fixture.login().isOpen)
        }
    }
}
