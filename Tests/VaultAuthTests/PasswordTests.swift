import CredentialVault
import Foundation
import Testing
import VaultDevelopment
import VaultTesting

/// Changing the password, and registering an account that exists.
@Suite struct PasswordTests {
    private static let new = "coffee at a quarter to nine"

    private func change(_ vault: Vault, from old: String = Fixture.password, to new: String = new) async throws {
        try await vault.storage.changePassword(
            userID: "alice", from: SecretBytes(utf8: old), to: SecretBytes(utf8: new))
    }

    /// Checks that only this password opens the account.
    private func expectPassword(_ password: String, opens fixture: Fixture) async throws {
        for known in [Fixture.password, Self.new] where known != password {
            let error = await failure { try await fixture.login(password: known) }
            #expect(error?.code == .wrongSecret, "\(known)")
        }
        try await fixture.login(password: password)
        #expect(try await fixture.store.stagedKeyslot(of: fixture.id()) == nil)
        #expect(try await fixture.store.account(fixture.id())?.keyslots.count == 1)
    }

    @Test func `when the password changes, then only the new one opens`() async throws {
        try await withFixtureOnDisk { fixture, _ in
            try await fixture.register()
            try await fixture.putNote()
            let refresh = try await fixture.store.item(.refreshToken, of: fixture.id())
            try await change(fixture.vault)
            #expect(try await fixture.note(password: Self.new) == [1, 2, 3])
            #expect(try await fixture.store.item(.refreshToken, of: fixture.id()) == refresh)
            try await expectPassword(Self.new, opens: fixture)
        }
    }

    @Test func `when the old password is wrong, then nothing changes`() async throws {
        try await withFixture { fixture in
            try await fixture.register()
            let before = try await fixture.store.account(fixture.id())
            let error = await failure { try await change(fixture.vault, from: "wrong") }
            #expect(error?.code == .wrongSecret)
            #expect(error?.guessesRemaining == 2)
            #expect(try await fixture.store.account(fixture.id()) == before)
            try await expectPassword(Fixture.password, opens: fixture)
        }
    }

    @Test func `when the new password is unusable, then nothing changes`() async throws {
        try await withFixture { fixture in
            try await fixture.register()
            for password in ["", "tab\tin it"] {
                #expect(await failure { try await change(fixture.vault, to: password) }?.code == .passwordUnusable)
            }
            try await expectPassword(Fixture.password, opens: fixture)
        }
    }

    /// 1: the old password is tried, 2: the new key is made, 3: the new password is tried.
    @Test(arguments: 1...3)
    func `when the key service fails, then the old password stays`(failingCall: Int) async throws {
        try await withFixture { fixture in
            try await fixture.register()
            let vault = try await fixture.anotherVault(
                keyService: FailingKeyService(fixture.keyService, failingCall: failingCall))
            #expect(await failure { try await change(vault) }?.code == .keyServiceUnavailable)
            try await expectPassword(Fixture.password, opens: fixture)
            try await change(fixture.vault)
            try await expectPassword(Self.new, opens: fixture)
        }
    }

    @Test func `when the store fails, then the old password stays`() async throws {
        try await withFixture { fixture in
            try await fixture.register()
            let store = WatchedStore(base: fixture.store) {
                if $0.activatesKeyslot { throw StoreError(.unreadable, "The disk is full.") }
            }
            let vault = try await fixture.anotherVault(store: store)
            #expect(await failure { try await change(vault) }?.code == .storeUnreadable)
            try await expectPassword(Fixture.password, opens: fixture)
        }
    }

    @Test func `when two password changes collide, then the second is refused`() async throws {
        try await withFixture { fixture in
            try await fixture.register()
            // The account was read, and the old password opened it. Meanwhile another program changed it.
            let stale = try await fixture.vault.storage.account(userID: "alice")
            let key = try await fixture.vaultKey()
            try await change(fixture.anotherVault())
            let error = await failure {
                try await fixture.vault.accounts.setPassword(
                    SecretBytes(utf8: "a third password"), of: stale, vaultKey: key)
            }
            #expect(error?.code == .busy)
            #expect(
                fixture.keyService.liveKeys == [try await fixture.account().keyslots[0].keyID], "its key was given up")
            try await expectPassword(Self.new, opens: fixture)
        }
    }

    @Test func `when a registration repeats the password, then the items stay`() async throws {
        try await withFixture { fixture in
            try await fixture.register(alias: "me")
            try await fixture.putNote()
            let token = try await fixture.signIn()
            let wrong = await failure {
                try await fixture.vault.storage.storeRefreshToken(
                    token, withExistingPassword: SecretBytes(utf8: "wrong"))
            }
            #expect(wrong?.code == .wrongSecret)
            try await fixture.vault.storage.storeRefreshToken(
                token, withExistingPassword: SecretBytes(utf8: Fixture.password))
            #expect(try await fixture.note(password: Fixture.password) == [1, 2, 3])
            #expect(try await fixture.vault.storage.account(userID: "me").id == token.account)
            #expect(
                try await fixture.vault.storage.storedRefreshToken(
                    userID: "me", password: SecretBytes(utf8: Fixture.password)
                ).value == token.value)
            try await fixture.login()
        }
    }

    @Test func `when a registration would lose items, then it is refused`() async throws {
        try await withFixture { fixture in
            let first = try await fixture.register(alias: "me")
            try await fixture.putNote()
            let before = try await fixture.store.account(first.id)
            let token = try await fixture.signIn()
            let error = await failure {
                try await fixture.vault.storage.storeRefreshToken(token, withNewPassword: SecretBytes(utf8: Self.new))
            }
            #expect(error?.code == .accountExists)
            #expect(error?.description.contains("note") == true)
            #expect(try await fixture.store.account(first.id) == before)
            #expect(try await fixture.note(password: Fixture.password) == [1, 2, 3])

            try await fixture.vault.storage.storeRefreshToken(
                token, withNewPassword: SecretBytes(utf8: Self.new), alias: nil, replacingItems: true)
            #expect(try await fixture.store.item(Fixture.note, of: first.id) == nil)
            #expect(try await fixture.vault.storage.account(userID: "me").id == first.id)
            try await expectPassword(Self.new, opens: fixture)
        }
    }

    @Test func `when no account exists, then an existing password is refused`() async throws {
        try await withFixture { fixture in
            let token = try await fixture.signIn()
            let error = await failure {
                try await fixture.vault.storage.storeRefreshToken(
                    token, withExistingPassword: SecretBytes(utf8: Fixture.password))
            }
            #expect(error?.code == .accountNotFound)
            #expect(fixture.keyService.calls == 0)
        }
    }

    @Test func `when a registration cannot be stored, then nothing is left`() async throws {
        let store = InMemoryStore()
        try await withFixture(store: store) { fixture in
            let token = try await fixture.signIn()
            store.writeFailure = StoreError(.unreadable, "The disk is full.")
            #expect(await failure { try await fixture.vault.storage.checkReady() }?.code == .storeUnreadable)
            #expect(await failure { try await fixture.store(token) }?.code == .storeUnreadable)
            #expect(try await store.accounts() == [])
            store.writeFailure = nil
            // The person need not use the browser again.
            try await fixture.store(token)
            try await fixture.login()
        }
    }
}
