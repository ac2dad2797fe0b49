import CredentialVault
import Foundation
import Testing
import VaultDevelopment
import VaultTesting

/// The names that people give to accounts.
@Suite struct AliasTests {
    private static let everyIssuer: [String?] = [nil, ""]

    private func store(_ token: SignInResult, _ alias: String?, _ fixture: Fixture) async throws {
        try await fixture.vault.storage.storeRefreshToken(
            token, withNewPassword: SecretBytes(utf8: Fixture.password), alias: alias)
    }

    @Test func `when an alias names another account, then it is refused`() async throws {
        try await withFixture { fixture in
            let alice = try await fixture.register().id
            let person = try await fixture.vault.storage.account(userID: "alice")
            let names = [alice.subject, person.email, person.preferredUsername].compactMap(\.self)
            #expect(names.count == 3)
            let bob = try await fixture.signIn("bob")
            let calls = fixture.keyService.calls
            for name in names {
                let error = await failure { try await store(bob, name, fixture) }
                #expect(error?.code == .aliasTaken && error?.accounts == [alice])
            }
            #expect(fixture.keyService.calls == calls)
            #expect(try await fixture.store.accounts().map(\.id) == [alice])
            // A person may use the names of the same account.
            for alias in [bob.identity.email, bob.account.subject, nil] {
                try await store(fixture.signIn("bob"), alias, fixture)
            }
        }
    }

    @Test func `when sign-in is pending, then only certainly taken aliases fail`() async throws {
        try await withFixture { fixture in
            let issuer = fixture.provider.issuer
            let accounts = try fixture.vault.accounts
            try await fixture.register("alice", alias: "al")
            // This may be alice, who registers again.
            try await accounts.checkAlias("al", issuer: issuer)
            try await accounts.checkAlias("nobody", issuer: issuer)
            let other = "https://other.example.com"
            for name in ["al", "alice", "alice@example.com"] {
                let error = await failure { try await accounts.checkAlias(name, issuer: other) }
                #expect(error?.code == .aliasTaken)
            }
            // Two accounts have the name, and one belongs to another person. So the name is taken even with an issuer.
            try await fixture.store.apply(
                [
                    .putAccount(
                        Account(
                            id: AccountID(issuer: issuer, subject: "2"), email: "al", clientID: "x", keyServiceURL: "x",
                            deviceSecret: [], createdAt: fixture.clock.now))
                ], to: AccountID(issuer: issuer, subject: "2"))
            #expect(await failure { try await accounts.checkAlias("al", issuer: issuer) }?.code == .aliasTaken)
        }
    }

    @Test func `when a subject is another account's email, then it wins`() async throws {
        try await withFixture { fixture in
            let alice = try await fixture.register().id
            // This name comes from the provider. No person chose it here.
            let other = AccountID(issuer: fixture.provider.issuer, subject: "other")
            try await fixture.store.apply(
                [
                    .putAccount(
                        Account(
                            id: other, email: alice.subject, preferredUsername: "alice", clientID: "x",
                            keyServiceURL: "x", deviceSecret: [], createdAt: fixture.clock.now))
                ], to: other)
            for issuer in Self.everyIssuer + [fixture.provider.issuer] {
                #expect(try await fixture.vault.accounts.find(alice.subject, issuer: issuer).id == alice)
                let error = await failure { _ = try await fixture.vault.accounts.find("alice", issuer: issuer) }
                #expect(error?.code == .accountAmbiguous && error?.accounts.count == 2)
            }
        }
    }

    @Test func `when the issuer setting is empty, then the account opens`() async throws {
        try await withFixture { fixture in
            let id = try await fixture.register().id
            for issuer in Self.everyIssuer {
                var configuration = VaultConfiguration(
                    keyServiceURL: "https://keys.example.com", argon2: .insecureForTests)
                configuration.issuer = issuer
                let vault = try await Vault(
                    configuration, store: fixture.store, keyService: fixture.keyService, clock: fixture.clock)
                #expect(try await vault.storage.all().map(\.id) == [id])
                #expect(try await vault.storage.account(userID: "alice").id == id)
                #expect(try await vault.storage.hasRefreshToken(userID: "alice"))
                guard try await vault.auth.restoreSession(userID: "alice").state == .locked else {
                    Issue.record("\(issuer ?? "nil")")
                    continue
                }
                let password = try SecretBytes(utf8: Fixture.password)
                _ = try await vault.auth.unlock(userID: "alice", password: password)
            }
        }
    }

    @Test func `when an alias differs in Unicode form, then it matches`() async throws {
        try await withFixture { fixture in
            let (composed, decomposed) = ("Zo\u{EB}", "Zoe\u{308}")
            try await store(fixture.signIn(), decomposed, fixture)
            let stored = try #require(try await fixture.store.accounts().first?.alias)
            #expect(stored.utf8.elementsEqual(composed.utf8))
            for name in [composed, decomposed] {
                #expect(try await fixture.vault.storage.account(userID: name).alias == composed)
                let bob = try await fixture.signIn("bob")
                #expect(await failure { try await store(bob, name, fixture) }?.code == .aliasTaken)
            }
        }
    }

    @Test(arguments: [
        "", " ", "-", "-x", "al ", "\tal", "a\nb", "al\u{200B}", "\u{202E}la", "a\u{0}", "\u{FEFF}al", "al\u{AD}",
        "\u{3164}",
        "a\u{FE0F}", String(repeating: "a", count: 101), "a" + String(repeating: "\u{301}", count: 2_000),
    ])
    func `when an alias is malformed, then it is refused`(alias: String) async throws {
        try await withFixture { fixture in
            let token = try await fixture.signIn()
            #expect(await failure { try await store(token, alias, fixture) }?.code == .configurationInvalid)
            let accounts = try fixture.vault.accounts
            #expect(await failure { try await accounts.checkAlias(alias, issuer: "x") }?.code == .configurationInvalid)
            #expect(try await fixture.store.accounts().isEmpty)
        }
    }

    @Test func `when a person registers again, then the alias stays`() async throws {
        try await withFixture { fixture in
            try await fixture.register("alice", alias: "chief")
            try await fixture.register("alice")
            #expect(try await fixture.vault.storage.account(userID: "alice").alias == "chief")
            // A server chose these names.
            try await addOther(to: fixture, username: "chief")
            try await addOther(to: fixture, subject: "chief")
            try await fixture.register("alice")
            let alice = try await fixture.vault.storage.account(userID: "alice")
            #expect(alice.alias == "chief")
            #expect(try await fixture.vault.storage.account(userID: "chief").id == alice.id)
        }
    }

    @Test func `when a server sends another's alias, then the alias wins`() async throws {
        try await withFixture { fixture in
            let alice = try await fixture.register("alice", alias: "work").id
            // The server of this account chose both names, after alice chose her alias.
            let other = try await addOther(to: fixture, email: "work", username: "work")
            for issuer in Self.everyIssuer + [fixture.provider.issuer] {
                #expect(try await fixture.vault.accounts.find("work", issuer: issuer).id == alice)
            }
            #expect(try await fixture.login("work").id == alice)
            #expect(try await fixture.vault.storage.uniqueName(of: alice) == "work")
            #expect(try await fixture.vault.storage.uniqueName(of: other) == other.subject)
            // A server without user ids: its subject is the user name.
            let third = try await addOther(to: fixture, subject: "work", email: "third@example.com")
            #expect(try await fixture.vault.storage.uniqueName(of: third) == "third@example.com")
            for issuer in Self.everyIssuer + [fixture.provider.issuer] {
                #expect(try await fixture.vault.accounts.find("work", issuer: issuer).id == alice)
            }
        }
    }

    @discardableResult
    private func addOther(
        to fixture: Fixture, subject: String = "other", email: String? = nil, username: String? = nil
    ) async throws -> AccountID {
        let id = AccountID(issuer: fixture.provider.issuer, subject: subject)
        let account = Account(
            id: id, email: email, preferredUsername: username, clientID: "x", keyServiceURL: "x", deviceSecret: [],
            createdAt: fixture.clock.now)
        try await fixture.store.apply([.putAccount(account)], to: id)
        return id
    }
}
