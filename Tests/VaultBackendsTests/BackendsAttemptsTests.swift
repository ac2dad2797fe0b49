import CredentialVault
import Foundation
import Testing
import VaultDevelopment
import VaultTesting

/// Password attempts at a backend.
@Suite struct BackendsAttemptsTests {
    private func attempt(_ bench: BackendsBench, _ email: String, _ password: String) async -> VaultError? {
        await failure {
            try await bench.vault.auth.signIn(PasswordSignIn(email: email, password: SecretBytes(utf8: password)))
        }
    }

    private func alice(_ bench: BackendsBench) async -> VaultError? {
        await attempt(bench, "alice@example.com", "alice-password")
    }

    @Test func `when five user names fail, then every attempt is locked`() async throws {
        try await withBackend(.init(options: { $0.maximumFailures = 100 })) { bench in
            for count in 1...5 {
                #expect(await attempt(bench, "person-\(count)", "a wrong one")?.code == .wrongSecret)
                #expect(await alice(bench)?.retryAfter == .seconds(count == 5 ? 30 : 1))
                bench.clock.advance(by: 1)
            }
            #expect(await bench.asked.count == 5)
            bench.clock.advance(by: 28)
            #expect(await alice(bench)?.code == .tooManyAttempts)
            bench.clock.advance(by: 1)
            #expect(await alice(bench) == nil)
        }
    }

    @Test func `when one user signs in, then others' failures still count`() async throws {
        try await withBackend(.init(options: { $0.maximumFailures = 100 })) { bench in
            for _ in 1...4 {
                #expect(await attempt(bench, "bob@example.com", "a wrong one")?.code == .wrongSecret)
                bench.clock.advance(by: 1)
            }
            #expect(await alice(bench) == nil)
            bench.clock.advance(by: 1)
            #expect(await attempt(bench, "carol", "a wrong one")?.code == .wrongSecret)
            #expect(await alice(bench)?.retryAfter == .seconds(30))
        }
    }

    @Test func `when an attempt's answer is lost, then the attempt counts`() async throws {
        try await withBackend { bench in
            for _ in 1...5 {
                bench.wire.fail("/auth/login", .interrupted)
                #expect(await alice(bench)?.code == .identityProviderInterrupted)
                bench.wire.fail("/auth/login", nil)
                bench.clock.advance(by: 1)
            }
            #expect(await alice(bench)?.retryAfter == .seconds(29))
        }
    }

    @Test func `when the clock goes back, then locks last thirty seconds`() async throws {
        try await withBackend(.init(options: { $0.maximumFailures = 100 })) { bench in
            for _ in 1...5 {
                #expect(await attempt(bench, "alice@example.com", "a wrong one")?.code == .wrongSecret)
                bench.clock.advance(by: 1)
            }
            bench.clock.advance(by: -86_400)
            #expect(await alice(bench)?.retryAfter == .seconds(30))
            bench.clock.advance(by: 30)
            #expect(await alice(bench)?.retryAfter == nil)
        }
    }

    @Test func `when attempts fail, then no plain user name is stored`() async throws {
        let folder = FileManager.default.temporaryDirectory.path() + "vault-backends-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try await withBackend(.init(store: SQLiteStore(folder: folder))) { bench in
            #expect(await attempt(bench, "battery-staple", "alice-password")?.code == .wrongSecret)
            var stored = Data()
            for file in try FileManager.default.subpathsOfDirectory(atPath: folder) {
                stored += FileManager.default.contents(atPath: "\(folder)/\(file)") ?? Data()
            }
            #expect(stored.range(of: Data("attempts".utf8)) != nil)
            #expect(stored.range(of: Data("battery-staple".utf8)) == nil)
        }
    }

    /// The stored data about attempts, as text.
    private func record(_ bench: BackendsBench) async throws -> String? {
        try await bench.store.withRecord("attempts") { $0.map { String(decoding: $0, as: UTF8.self) } }
    }

    @Test func `when the pause ends, then the attempt record is removed`() async throws {
        try await withBackend { bench in
            try await bench.register(
                PasswordSignIn(email: "alice@example.com", password: SecretBytes(utf8: "alice-password")))
            bench.clock.advance(by: 1)
            #expect(await attempt(bench, "battery-staple", "alice-password")?.code == .wrongSecret)
            bench.clock.advance(by: 29)
            try await bench.login()
            #expect(try await record(bench) != nil)
            bench.clock.advance(by: 1)
            try await bench.login()
            #expect(try await record(bench) == nil)
        }
    }

    @Test(arguments: [true, false])
    func `when an account is deleted, then the backend's pause stays`(isOpen: Bool) async throws {
        try await withBackend(.init(options: { $0.maximumFailures = 100 })) { bench in
            try await bench.register(
                PasswordSignIn(email: "alice@example.com", password: SecretBytes(utf8: "alice-password")))
            bench.clock.advance(by: 1)
            for _ in 1...5 {
                #expect(await attempt(bench, "battery-staple", "alice-password")?.code == .wrongSecret)
                bench.clock.advance(by: 1)
            }
            let before = try #require(try await record(bench))
            if isOpen {
                _ = try await bench.vault.auth.deleteAccount()
            } else {
                try await bench.vault.storage.clear(userID: "alice")
            }
            let after = try #require(try await record(bench))
            #expect(after.count < before.count)
            #expect(await attempt(bench, "battery-staple", "alice-password")?.retryAfter == .seconds(29))
        }
    }

    @Test func `when two stores record attempts, then their hashes differ`() async throws {
        var records: [String] = []
        for _ in 1...2 {
            try await withBackend(.init(options: { $0.port = 0 })) { bench in
                #expect(await attempt(bench, "battery-staple", "alice-password")?.code == .wrongSecret)
                records.append(try #require(try await record(bench)).replacing(bench.backend.url, with: ""))
            }
        }
        let hashes = records.map { $0.matches(of: /"([A-Za-z0-9+\\\/]{43,}=)"/).map { String($0.1) } }
        #expect(hashes.allSatisfy { $0.count == 1 } && hashes[0] != hashes[1])
    }

    @Test(arguments: [
        "", "null", "[]", "{",
        #"{"salt": [1], "ofAll": {"URL": {"failures": 9223372036854775807, "lastAt": 0}}, "ofUsers": {}}"#,
        #"{"salt": [1], "ofAll": {"URL": {"failures": -9223372036854775808, "lastAt": 1e300}}, "ofUsers": {}}"#,
    ])
    func `when the attempts record is damaged, then sign-in still works`(content: String) async throws {
        try await withBackend { bench in
            let text = content.replacing("URL", with: bench.backend.url)
            try await bench.store.withRecord("attempts") { $0 = Array(text.utf8) }
            _ = await alice(bench)
            bench.clock.advance(by: 31)
            #expect(await alice(bench) == nil)
        }
    }
}
