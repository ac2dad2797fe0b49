import CredentialVault
import Foundation
import Testing
import VaultDevelopment
import VaultTesting

/// Changing the password, and registering an account that exists.
@Suite struct PasswordTests {
    private static let new = "coffee at a quarter to nine"

    private func change(_ vault: Vault, from old: String = Bench.password, to new: String = new) async throws {
        try await vault.storage.changePassword(
            userID: "alice", from: SecretBytes(utf8: old), to: SecretBytes(utf8: new))
    }

    /// Checks that only this password opens the account.
    private func expectPassword(_ password: String, opens bench: Bench) async throws {
        for known in [Bench.password, Self.new] where known != password {
            let error = await failure { try await bench.login(password: known) }
            #expect(error?.code == .wrongSecret, "\(known)")
        }
        try await bench.login(password: password)
        #expect(try await bench.store.stagedKeyslot(of: bench.id()) == nil)
        #expect(try await bench.store.account(bench.id())?.keyslots.count == 1)
    }

    @Test func `when the password changes, then only the new one opens`() async throws {
        try await withBenchOnDisk { bench, _ in
            try await bench.register()
            try await bench.putNote()
            let refresh = try await bench.store.item(.refreshToken, of: bench.id())
            try await change(bench.vault)
            #expect(try await bench.note(password: Self.new) == [1, 2, 3])
            #expect(try await bench.store.item(.refreshToken, of: bench.id()) == refresh)
            try await expectPassword(Self.new, opens: bench)
        }
    }

    @Test func `when the old password is wrong, then nothing changes`() async throws {
        try await withBench { bench in
            try await bench.register()
            let before = try await bench.store.account(bench.id())
            let error = await failure { try await change(bench.vault, from: "wrong") }
            #expect(error?.code == .wrongSecret)
            #expect(error?.guessesRemaining == 2)
            #expect(try await bench.store.account(bench.id()) == before)
            try await expectPassword(Bench.password, opens: bench)
        }
    }

    @Test func `when the new password is unusable, then nothing changes`() async throws {
        try await withBench { bench in
            try await bench.register()
            for password in ["", "tab\tin it"] {
                #expect(await failure { try await change(bench.vault, to: password) }?.code == .passwordUnusable)
            }
            try await expectPassword(Bench.password, opens: bench)
        }
    }

    /// 1: the old password is tried, 2: the new key is made, 3: the new password is tried.
    @Test(arguments: 1...3)
    func `when the key service fails, then the old password stays`(failingCall: Int) async throws {
        try await withBench { bench in
            try await bench.register()
            let vault = try await bench.anotherVault(
                keyService: FailingKeyService(bench.keyService, failingCall: failingCall))
            #expect(await failure { try await change(vault) }?.code == .keyServiceUnavailable)
            try await expectPassword(Bench.password, opens: bench)
            try await change(bench.vault)
            try await expectPassword(Self.new, opens: bench)
        }
    }

    @Test func `when the store fails, then the old password stays`() async throws {
        try await withBench { bench in
            try await bench.register()
            let store = WatchedStore(base: bench.store) {
                if $0.activatesKeyslot { throw StoreError(.unreadable, "The disk is full.") }
            }
            let vault = try await bench.anotherVault(store: store)
            #expect(await failure { try await change(vault) }?.code == .storeUnreadable)
            try await expectPassword(Bench.password, opens: bench)
        }
    }

    @Test func `when two password changes collide, then the second is refused`() async throws {
        try await withBench { bench in
            try await bench.register()
            // The account was read, and the old password opened it. Meanwhile another program changed it.
            let stale = try await bench.vault.storage.account(userID: "alice")
            let key = try await bench.vaultKey()
            try await change(bench.anotherVault())
            let error = await failure {
                try await bench.vault.accounts.setPassword(
                    SecretBytes(utf8: "a third password"), of: stale, vaultKey: key)
            }
            #expect(error?.code == .busy)
            #expect(bench.keyService.liveKeys == [try await bench.account().keyslots[0].keyID], "its key was given up")
            try await expectPassword(Self.new, opens: bench)
        }
    }

    @Test func `when a registration repeats the password, then the items stay`() async throws {
        try await withBench { bench in
            try await bench.register(alias: "me")
            try await bench.putNote()
            let token = try await bench.signIn()
            let wrong = await failure {
                try await bench.vault.storage.storeRefreshToken(
                    token, withExistingPassword: SecretBytes(utf8: "wrong"))
            }
            #expect(wrong?.code == .wrongSecret)
            try await bench.vault.storage.storeRefreshToken(
                token, withExistingPassword: SecretBytes(utf8: Bench.password))
            #expect(try await bench.note(password: Bench.password) == [1, 2, 3])
            #expect(try await bench.vault.storage.account(userID: "me").id == token.account)
            #expect(
                try await bench.vault.storage.storedRefreshToken(
                    userID: "me", password: SecretBytes(utf8: Bench.password)
                ).value == token.value)
            try await bench.login()
        }
    }

    @Test func `when a registration would lose items, then it is refused`() async throws {
        try await withBench { bench in
            let first = try await bench.register(alias: "me")
            try await bench.putNote()
            let before = try await bench.store.account(first.id)
            let token = try await bench.signIn()
            let error = await failure {
                try await bench.vault.storage.storeRefreshToken(token, withNewPassword: SecretBytes(utf8: Self.new))
            }
            #expect(error?.code == .accountExists)
            #expect(error?.description.contains("note") == true)
            #expect(try await bench.store.account(first.id) == before)
            #expect(try await bench.note(password: Bench.password) == [1, 2, 3])

            try await bench.vault.storage.storeRefreshToken(
                token, withNewPassword: SecretBytes(utf8: Self.new), alias: nil, replacingItems: true)
            #expect(try await bench.store.item(Bench.note, of: first.id) == nil)
            #expect(try await bench.vault.storage.account(userID: "me").id == first.id)
            try await expectPassword(Self.new, opens: bench)
        }
    }

    @Test func `when no account exists, then an existing password is refused`() async throws {
        try await withBench { bench in
            let token = try await bench.signIn()
            let error = await failure {
                try await bench.vault.storage.storeRefreshToken(
                    token, withExistingPassword: SecretBytes(utf8: Bench.password))
            }
            #expect(error?.code == .accountNotFound)
            #expect(bench.keyService.calls == 0)
        }
    }

    @Test func `when a registration cannot be stored, then nothing is left`() async throws {
        let store = InMemoryStore()
        try await withBench(store: store) { bench in
            let token = try await bench.signIn()
            store.writeFailure = StoreError(.unreadable, "The disk is full.")
            #expect(await failure { try await bench.vault.storage.checkReady() }?.code == .storeUnreadable)
            #expect(await failure { try await bench.store(token) }?.code == .storeUnreadable)
            #expect(try await store.accounts() == [])
            store.writeFailure = nil
            // The person need not use the browser again.
            try await bench.store(token)
            try await bench.login()
        }
    }
}
