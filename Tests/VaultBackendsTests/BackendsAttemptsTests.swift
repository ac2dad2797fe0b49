import CredentialVault
import Foundation
import Testing
import VaultDevelopment
import VaultTesting

/// Password attempts at a backend.
@Suite struct BackendsAttemptsTests {
    private func attempt(_ fixture: BackendsFixture, _ email: String, _ password: String) async -> VaultError? {
        await failure {
            try await fixture.vault.auth.signIn(PasswordSignIn(email: email, password: SecretBytes(utf8: password)))
        }
    }

    private func alice(_ fixture: BackendsFixture) async -> VaultError? {
        await attempt(fixture, "alice@example.com", "alice-password")
    }

    @Test func `when five user names fail, then every attempt is locked`() async throws {
        try await withBackend(.init(options: { $0.maximumFailures = 100 })) { fixture in
            for count in 1...5 {
                #expect(await attempt(fixture, "person-\(count)", "a wrong one")?.code == .wrongSecret)
                #expect(await alice(fixture)?.retryAfter == .seconds(count == 5 ? 30 : 1))
                fixture.clock.advance(by: 1)
            }
            #expect(await fixture.asked.count == 5)
            fixture.clock.advance(by: 28)
            #expect(await alice(fixture)?.code == .tooManyAttempts)
            fixture.clock.advance(by: 1)
            #expect(await alice(fixture) == nil)
        }
    }

    @Test func `when one user signs in, then only others' failures count`() async throws {
        try await withBackend(.init(options: { $0.maximumFailures = 100 })) { fixture in
            for name in ["alice", "bob", "bob", "bob"] {
                #expect(await attempt(fixture, "\(name)@example.com", "a wrong one")?.code == .wrongSecret)
                fixture.clock.advance(by: 1)
            }
            #expect(await alice(fixture) == nil)
            fixture.clock.advance(by: 1)
            // After bob's three failures, carol's second one is the fifth.
            for seconds in [1, 30] {
                #expect(await attempt(fixture, "carol", "a wrong one")?.code == .wrongSecret)
                #expect(await alice(fixture)?.retryAfter == .seconds(seconds))
                #expect(await attempt(fixture, "carol", "a wrong one")?.retryAfter == .seconds(seconds))
                fixture.clock.advance(by: 1)
            }
        }
    }

    @Test func `when an attempt's answer is lost, then the attempt counts`() async throws {
        try await withBackend { fixture in
            for _ in 1...5 {
                fixture.wire.fail("/auth/login", .interrupted)
                #expect(await alice(fixture)?.code == .identityProviderInterrupted)
                fixture.wire.fail("/auth/login", nil)
                fixture.clock.advance(by: 1)
            }
            #expect(await alice(fixture)?.retryAfter == .seconds(29))
        }
    }

    @Test func `when the clock goes back, then locks last thirty seconds`() async throws {
        try await withBackend(.init(options: { $0.maximumFailures = 100 })) { fixture in
            for _ in 1...5 {
                #expect(await attempt(fixture, "alice@example.com", "a wrong one")?.code == .wrongSecret)
                fixture.clock.advance(by: 1)
            }
            fixture.clock.advance(by: -86_400)
            #expect(await alice(fixture)?.retryAfter == .seconds(30))
            fixture.clock.advance(by: 30)
            #expect(await alice(fixture)?.retryAfter == nil)
        }
    }

    @Test func `when attempts fail, then no plain user name is stored`() async throws {
        let folder = FileManager.default.temporaryDirectory.path() + "vault-backends-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try await withBackend(.init(store: SQLiteStore(folder: folder))) { fixture in
            #expect(await attempt(fixture, "battery-staple", "alice-password")?.code == .wrongSecret)
            var stored = Data()
            for file in try FileManager.default.subpathsOfDirectory(atPath: folder) {
                stored += FileManager.default.contents(atPath: "\(folder)/\(file)") ?? Data()
            }
            #expect(stored.range(of: Data("attempts".utf8)) != nil)
            #expect(stored.range(of: Data("battery-staple".utf8)) == nil)
        }
    }

    /// The stored data about attempts, as text.
    private func record(_ fixture: BackendsFixture) async throws -> String? { try await record(fixture.store) }

    private func record(_ store: any SecureStore) async throws -> String? {
        try await store.withRecord("attempts") { $0.map { String(decoding: $0, as: UTF8.self) } }
    }

    @Test func `when the pause ends, then the attempt record is removed`() async throws {
        try await withBackend { fixture in
            try await fixture.register(
                PasswordSignIn(email: "alice@example.com", password: SecretBytes(utf8: "alice-password")))
            fixture.clock.advance(by: 1)
            #expect(await attempt(fixture, "battery-staple", "alice-password")?.code == .wrongSecret)
            fixture.clock.advance(by: 29)
            try await fixture.login()
            #expect(try await record(fixture) != nil)
            fixture.clock.advance(by: 1)
            try await fixture.login()
            #expect(try await record(fixture) == nil)
        }
    }

    @Test(arguments: [true, false])
    func `when an account is deleted, then the backend's pause stays`(isOpen: Bool) async throws {
        try await withBackend(.init(options: { $0.maximumFailures = 100 })) { fixture in
            try await fixture.register(
                PasswordSignIn(email: "alice@example.com", password: SecretBytes(utf8: "alice-password")))
            fixture.clock.advance(by: 1)
            for _ in 1...5 {
                #expect(await attempt(fixture, "battery-staple", "alice-password")?.code == .wrongSecret)
                fixture.clock.advance(by: 1)
            }
            let before = try #require(try await record(fixture))
            if isOpen {
                _ = try await fixture.vault.auth.deleteAccount()
            } else {
                try await fixture.vault.storage.clear(userID: "alice")
            }
            let after = try #require(try await record(fixture))
            #expect(after.count < before.count)
            #expect(await attempt(fixture, "battery-staple", "alice-password")?.retryAfter == .seconds(29))
        }
    }

    @Test func `when two stores record attempts, then their hashes differ`() async throws {
        try await withBackend { fixture in
            var records: [String] = []
            // The same backend and user name, so that only the salt differs.
            for _ in 1...2 {
                let store = InMemoryStore()
                let vault = try await fixture.anotherVault(store: store)
                let error = await failure {
                    try await vault.auth.signIn(
                        PasswordSignIn(email: "battery-staple", password: SecretBytes(utf8: "alice-password")))
                }
                #expect(error?.code == .wrongSecret)
                records.append(try #require(try await record(store)))
            }
            let hashes = records.map { $0.matches(of: /"([A-Za-z0-9+\\\/]{43,}=)"/).map { String($0.1) } }
            #expect(hashes.allSatisfy { $0.count == 1 } && hashes[0] != hashes[1])
        }
    }

    @Test(arguments: [
        "", "null", "[]", "{",
        #"{"salt": [1], "ofAll": {"URL": {"failures": 9223372036854775807, "lastAt": 0}}, "ofUsers": {}}"#,
        #"{"salt": [1], "ofAll": {"URL": {"failures": -9223372036854775808, "lastAt": 1e300}}, "ofUsers": {}}"#,
    ])
    func `when the attempts record is damaged, then sign-in still works`(content: String) async throws {
        try await withBackend { fixture in
            let text = content.replacing("URL", with: fixture.backend.url)
            try await fixture.store.withRecord("attempts") { $0 = Array(text.utf8) }
            _ = await alice(fixture)
            fixture.clock.advance(by: 31)
            #expect(await alice(fixture) == nil)
        }
    }
}
