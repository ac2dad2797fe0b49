import CredentialVault
import Foundation
import Testing
import VaultTesting

/// The data that a list of accounts shows without opening them: chosen claims, scopes, and the end of the access token.
@Suite struct AccountListTests {
    private static let password = "tea at half past four"
    private let store = InMemoryStore()
    private let keyService = InMemoryKeyService()
    private let clock = ManualClock()
    private let provider: FakeProvider

    init() { provider = FakeProvider(clock: clock) }

    private func vault(_ displayClaims: [String]?) async throws -> Vault {
        var configuration = VaultConfiguration(
            issuer: provider.issuer, clientID: "app", keyServiceURL: "https://keys.example",
            argon2: .insecureForTests)
        configuration.displayClaims = displayClaims
        return try await Vault(
            configuration, store: store, keyService: keyService, clock: clock, issuers: [provider])
    }

    private func register(_ vault: Vault) async throws -> AccountID {
        let token = try await vault.auth.signIn(provider.signIn("alice", name: "Alice Adams", email: "a@example.com"))
        return try await vault.storage.storeRefreshToken(
            token, withNewPassword: SecretBytes(utf8: Self.password)
        ).id
    }

    private func open(_ id: AccountID, in vault: Vault) async throws -> Account {
        try await vault.auth.unlock(id, with: .password(SecretBytes(utf8: Self.password)))
        return try await vault.storage.account(id)
    }

    @Test func `when an app chooses claims, then only those are listed`() async throws {
        let id = try await register(vault(nil))
        #expect(try await vault(nil).storage.all().map(\.displayClaims) == [[:]])
        // An app that chooses claims sees them after the account was opened. An app that chooses none keeps the stored
        // ones.
        #expect(try await open(id, in: vault(["name", "absent"])).displayClaims == ["name": "Alice Adams"])
        #expect(try await open(id, in: vault(nil)).displayClaims == ["name": "Alice Adams"])
        #expect(try await open(id, in: vault(["email"])).displayClaims == ["email": "a@example.com"])
        #expect(try await open(id, in: vault([])).displayClaims == [:])
    }

    @Test func `when an account is registered, then chosen claims are listed`() async throws {
        let vault = try await vault(["name"])
        _ = try await register(vault)
        #expect(try await vault.storage.all().map(\.displayClaims) == [["name": "Alice Adams"]])
    }

    @Test func `when tokens are refreshed, then scopes and expiry are updated`() async throws {
        let vault = try await vault(nil)
        let id = try await register(vault)
        func grant() async throws -> Grant { Grant(of: try await vault.storage.account(id)) }
        #expect(try await grant().accessTokenExpiresAt == clock.now + 300)
        #expect(try await grant().scopes == nil, "the provider did not say")
        clock.advance(by: 1000)
        provider.answer(with: .outage)
        _ = try? await vault.auth.accessToken(forceRefresh: true)
        #expect(try await grant().accessTokenExpiresAt == clock.now - 700)
        provider.answer(with: .tokens)
        provider.grant("openid mail")
        _ = try await vault.auth.accessToken(forceRefresh: true)
        #expect(try await grant() == vault.auth.session?.grant())
        #expect(try await grant().scopes == ["openid", "mail"])
        #expect(try await grant().accessTokenExpiresAt == clock.now + 300)
        let session = try #require(vault.auth.session)
        try await vault.auth.logout()
        #expect(try await grant().accessTokenExpiresAt == nil)
        await #expect(throws: VaultError.self) { try await session.grant() }
    }

    @Test func `when an app sets tokens, then their expiry is listed`() async throws {
        let vault = try await vault(nil)
        let id = try await register(vault)
        try await vault.auth.setTokens(
            access: "access-elsewhere", refresh: "refresh-elsewhere", expiresIn: .seconds(77), subject: id.subject)
        #expect(try await vault.storage.account(id).accessTokenExpiresAt == clock.now + 77)
        #expect(try await vault.storage.account(id).accessTokenType == "Bearer")
    }
}
