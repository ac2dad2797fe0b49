import CredentialVault
import Foundation
import Testing
import VaultTesting

/// Passwords that are tried at a backend.
@Suite struct BackendsAttemptsTests {
    private func attempt(_ bench: BackendsBench, _ email: String, _ password: String) async -> VaultError? {
        await failure {
            try await bench.vault.auth.signIn(PasswordSignIn(email: email, password: SecretBytes(utf8: password)))
        }
    }

    private func alice(_ bench: BackendsBench) async -> VaultError? {
        await attempt(bench, "alice@example.com", "alice-password")
    }

    @Test func `other user names get no other pause, and five failures of any lock all`() async throws {
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

    @Test func `who signs in is forgiven, and only that one`() async throws {
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

    @Test func `an attempt whose answer is lost counts`() async throws {
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

    @Test func `a clock that was put back neither opens nor locks for long`() async throws {
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

    @Test func `a password that was typed as the user name is not stored`() async throws {
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
}
