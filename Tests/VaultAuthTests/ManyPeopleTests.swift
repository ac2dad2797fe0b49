import CredentialVault
import Testing
import VaultTesting

/// Many people in one process: a vault for each, over one store.
@Suite struct ManyPeopleTests {
    private static let password = "tea at half past four"
    private let store = InMemoryStore()
    private let keyService = InMemoryKeyService()
    private let clock = ManualClock()
    private let provider: FakeProvider

    init() { provider = FakeProvider(clock: clock) }

    private func vault() async throws -> Vault {
        let configuration = VaultConfiguration(
            issuer: provider.issuer, clientID: "app", keyServiceURL: "https://keys.example",
            argon2: .insecureForTests)
        return try await Vault(
            configuration, store: store, keyService: keyService, clock: clock, issuers: [provider])
    }

    private func register(_ name: String, in vault: Vault) async throws -> Session {
        let token = try await vault.auth.signIn(provider.signIn(name))
        return try await vault.storage.storeRefreshToken(token, withNewPassword: SecretBytes(utf8: Self.password))
    }

    @Test func `when each person has a vault, then all stay open`() async throws {
        let names = ["alice", "bob", "carol"]
        var (vaults, sessions): ([Vault], [Session]) = ([], [])
        for name in names {
            vaults.append(try await vault())
            sessions.append(try await register(name, in: vaults[vaults.count - 1]))
        }
        for (session, name) in zip(sessions, names) {
            #expect(try await session.accessToken(forceRefresh: true).value.hasPrefix("access-\(name)"))
            try await session.items.set("note", to: Array("note of \(name)".utf8))
        }
        await vaults[0].auth.lock()
        #expect(sessions.map(\.isOpen) == [false, true, true])
        for (session, name) in zip(sessions, names).dropFirst() {
            #expect(try await session.items.get("note") == Array("note of \(name)".utf8))
        }
    }

    @Test func `when a person is logged in twice, then both renew`() async throws {
        let first = try await register("alice", in: vault())
        let second = try await vault().auth.login(
            first.id, with: .password(consuming: SecretBytes(utf8: Self.password)))
        // The provider accepts each refresh token once.
        var tokens: Set<String> = []
        for session in [first, second, first, second] {
            clock.advance(by: 10)
            tokens.insert(try await session.accessToken(forceRefresh: true).value)
        }
        #expect(tokens.count == 4)
        await second.lock()
        #expect(first.isOpen)
    }
}
