import CredentialVault
import Foundation
import Testing
import VaultDevelopment
import VaultTesting

/// The names that people give to accounts.
@Suite struct AliasTests {
    private static let everyIssuer: [String?] = [nil, ""]

    private func store(_ token: SignInResult, _ alias: String?, _ bench: Bench) async throws {
        try await bench.vault.storage.storeRefreshToken(
            token, withNewPassword: SecretBytes(utf8: Bench.password), alias: alias)
    }

    @Test func `when an alias names another account, then it is refused`() async throws {
        try await withBench { bench in
            let alice = try await bench.register().id
            let person = try await bench.vault.storage.account(userID: "alice")
            let names = [alice.subject, person.email, person.preferredUsername].compactMap(\.self)
            #expect(names.count == 3)
            let bob = try await bench.signIn("bob")
            let calls = bench.keyService.calls
            for name in names {
                let error = await failure { try await store(bob, name, bench) }
                #expect(error?.code == .aliasTaken && error?.accounts == [alice])
            }
            #expect(bench.keyService.calls == calls)
            #expect(try await bench.store.accounts().map(\.id) == [alice])
            // A person may use the names of the same account.
            for alias in [bob.identity.email, bob.account.subject, nil] {
                try await store(bench.signIn("bob"), alias, bench)
            }
        }
    }

    @Test func `when sign-in is pending, then only certainly taken aliases fail`() async throws {
        try await withBench { bench in
            let issuer = bench.provider.issuer
            let accounts = try bench.vault.accounts
            try await bench.register("alice", alias: "al")
            // This may be alice, who registers again.
            try await accounts.checkAlias("al", issuer: issuer)
            try await accounts.checkAlias("nobody", issuer: issuer)
            let other = "https://other.example.com"
            for name in ["al", "alice", "alice@example.com"] {
                let error = await failure { try await accounts.checkAlias(name, issuer: other) }
                #expect(error?.code == .aliasTaken)
            }
            // Two accounts have the name, and one belongs to another person. So the name is taken even with an issuer.
            try await bench.store.apply(
                [
                    .putAccount(
                        Account(
                            id: AccountID(issuer: issuer, subject: "2"), email: "al", clientID: "x", keyServiceURL: "x",
                            deviceSecret: [], createdAt: bench.clock.now))
                ], to: AccountID(issuer: issuer, subject: "2"))
            #expect(await failure { try await accounts.checkAlias("al", issuer: issuer) }?.code == .aliasTaken)
        }
    }

    @Test func `when a subject is another account's email, then it wins`() async throws {
        try await withBench { bench in
            let alice = try await bench.register().id
            // This name comes from the provider. No person chose it here.
            let other = AccountID(issuer: bench.provider.issuer, subject: "other")
            try await bench.store.apply(
                [
                    .putAccount(
                        Account(
                            id: other, email: alice.subject, preferredUsername: "alice", clientID: "x",
                            keyServiceURL: "x", deviceSecret: [], createdAt: bench.clock.now))
                ], to: other)
            for issuer in Self.everyIssuer + [bench.provider.issuer] {
                #expect(try await bench.vault.accounts.find(alice.subject, issuer: issuer).id == alice)
                let error = await failure { _ = try await bench.vault.accounts.find("alice", issuer: issuer) }
                #expect(error?.code == .accountAmbiguous && error?.accounts.count == 2)
            }
        }
    }

    @Test func `when the issuer setting is empty, then the account opens`() async throws {
        try await withBench { bench in
            let id = try await bench.register().id
            for issuer in Self.everyIssuer {
                var configuration = VaultConfiguration(
                    keyServiceURL: "https://keys.example.com", argon2: .insecureForTests)
                configuration.issuer = issuer
                let vault = try await Vault(
                    configuration, store: bench.store, keyService: bench.keyService, clock: bench.clock)
                #expect(try await vault.storage.all().map(\.id) == [id])
                #expect(try await vault.storage.account(userID: "alice").id == id)
                #expect(try await vault.storage.hasRefreshToken(userID: "alice"))
                guard try await vault.auth.restoreSession(userID: "alice").state == .locked else {
                    Issue.record("\(issuer ?? "nil")")
                    continue
                }
                let password = try SecretBytes(utf8: Bench.password)
                _ = try await vault.auth.unlock(userID: "alice", password: password)
            }
        }
    }

    @Test func `when an alias differs in Unicode form, then it matches`() async throws {
        try await withBench { bench in
            let (composed, decomposed) = ("Zo\u{EB}", "Zoe\u{308}")
            try await store(bench.signIn(), decomposed, bench)
            let stored = try #require(try await bench.store.accounts().first?.alias)
            #expect(stored.utf8.elementsEqual(composed.utf8))
            for name in [composed, decomposed] {
                #expect(try await bench.vault.storage.account(userID: name).alias == composed)
                let bob = try await bench.signIn("bob")
                #expect(await failure { try await store(bob, name, bench) }?.code == .aliasTaken)
            }
        }
    }

    @Test(arguments: [
        "", " ", "al ", "\tal", "a\nb", "al\u{200B}", "\u{202E}la", "a\u{0}", "\u{FEFF}al", "al\u{AD}", "\u{3164}",
        "a\u{FE0F}", String(repeating: "a", count: 101), "a" + String(repeating: "\u{301}", count: 2_000),
    ])
    func `when an alias is malformed, then it is refused`(alias: String) async throws {
        try await withBench { bench in
            let token = try await bench.signIn()
            #expect(await failure { try await store(token, alias, bench) }?.code == .configurationInvalid)
            let accounts = try bench.vault.accounts
            #expect(await failure { try await accounts.checkAlias(alias, issuer: "x") }?.code == .configurationInvalid)
            #expect(try await bench.store.accounts().isEmpty)
        }
    }

    @Test func `when a person registers again, then a free alias stays`() async throws {
        try await withBench { bench in
            try await bench.register("alice", alias: "chief")
            try await bench.register("alice")
            #expect(try await bench.vault.storage.account(userID: "alice").alias == "chief")
            let other = AccountID(issuer: bench.provider.issuer, subject: "other")
            try await bench.store.apply(
                [
                    .putAccount(
                        Account(
                            id: other, preferredUsername: "chief", clientID: "x", keyServiceURL: "x", deviceSecret: [],
                            createdAt: bench.clock.now))
                ], to: other)
            try await bench.register("alice")
            #expect(try await bench.vault.storage.account(userID: "alice").alias == nil)
            #expect(try await bench.vault.storage.account(userID: "chief").id == other)
        }
    }
}
