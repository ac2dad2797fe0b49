import CredentialVault
import Foundation
import Testing
import VaultAuthTestSupport
import VaultDevelopment
import VaultTesting

/// Tokens of an app that logs in without this library.
@Suite struct OutsideTokenTests {
    @Test func `when outside tokens are stored, then the vault renews them`() async throws {
        try await withFixture { fixture in
            let elsewhere = try await fixture.signIn()
            let access = try #require(elsewhere.accessToken?.value)
            let vault = try await fixture.anotherVault()
            let token = try await vault.auth.setTokens(access: access, refresh: elsewhere.value)
            // The provider named the owner of the tokens.
            #expect(token.account == elsewhere.account)
            #expect(token.identity.preferredUsername == "alice")
            #expect(vault.auth.isLoggedIn)
            try await vault.storage.storeRefreshToken(
                token, withNewPassword: SecretBytes(utf8: Fixture.password))
            #expect(try await vault.auth.accessToken(forceRefresh: true).value != access)
            #expect(await fixture.refreshes.map(\.outcome) == [.ok])
        }
    }

    @Test func `when a server lacks discovery, then its endpoint renews tokens`() async throws {
        try await withFixture { fixture in
            let elsewhere = try await fixture.signIn()
            let access = try #require(elsewhere.accessToken?.value)
            let url = fixture.provider.issuer + "/token"
            let (store, keyService) = (InMemoryStore(), InMemoryKeyService())
            func vault(_ endpoint: OAuthTokenEndpoint?) async throws -> Vault {
                var configuration = VaultConfiguration(
                    keyServiceURL: "https://keys.example.com", argon2: .insecureForTests)
                configuration.tokenEndpoint = endpoint
                return try await Vault(
                    configuration, store: store, keyService: keyService, transport: fixture.network,
                    clock: fixture.clock)
            }
            let first = try await vault(OAuthTokenEndpoint(url: url, clientID: "vault-cli"))
            let before = await fixture.provider.requests
            let ownerless = await failure { try await first.auth.setTokens(access: access, refresh: elsewhere.value) }
            #expect(ownerless?.code == .tokenInvalid)
            let login = try await first.auth.setTokens(
                access: access, refresh: elsewhere.value, expiresIn: .seconds(300), subject: "u-1")
            #expect(login.account == AccountID(issuer: url, subject: "u-1") && login.method == .tokenEndpoint)
            let session = try await first.storage.storeRefreshToken(
                login, withNewPassword: SecretBytes(utf8: Fixture.password))
            #expect(try await session.accessToken(forceRefresh: true).value != access)
            // Another program knows the endpoint from the account.
            let second = try await vault(nil)
            try await second.auth.login(userID: "u-1", password: SecretBytes(utf8: Fixture.password))
            #expect(await fixture.refreshes.map(\.outcome) == [.ok, .ok])
            #expect(await fixture.provider.requests.count == before.count + 2, "nothing but the endpoint is asked")
        }
    }

    @Test func `when an endpoint refuses the token, then the session ends`() async throws {
        try await withFixture { fixture in
            var configuration = VaultConfiguration(
                keyServiceURL: "https://keys.example.com", argon2: .insecureForTests)
            configuration.tokenEndpoint = OAuthTokenEndpoint(
                url: fixture.provider.issuer + "/token", clientID: "vault-cli")
            let vault = try await Vault(
                configuration, store: InMemoryStore(), keyService: InMemoryKeyService(), transport: fixture.network,
                clock: fixture.clock)
            let login = try await vault.auth.setTokens(
                access: "access", refresh: "unknown", expiresIn: nil, subject: "u-1")
            let session = try await vault.storage.storeRefreshToken(
                login, withNewPassword: SecretBytes(utf8: Fixture.password))
            let error = await failure { _ = try await session.accessToken(forceRefresh: true) }
            #expect(error?.isRefreshTokenExpired == true)
        }
    }

    @Test func `when a token endpoint lacks https, then it is refused`() async throws {
        var configuration = VaultConfiguration(keyServiceURL: "https://keys.example.com")
        configuration.tokenEndpoint = OAuthTokenEndpoint(url: "http://login.lan/token", clientID: "app")
        configuration.allowsInsecureHTTP = true
        let vault = try await Vault(configuration, store: InMemoryStore(), keyService: InMemoryKeyService())
        let error = await failure {
            try await vault.auth.setTokens(access: "access", refresh: "refresh", expiresIn: nil, subject: "u-1")
        }
        #expect(error?.code == .configurationInvalid && !vault.auth.isLoggedIn)
    }

    @Test func `when a token is empty, then both tokens are refused`() async throws {
        try await withFixture { fixture in
            let session = try await fixture.register()
            let before = try await fixture.store.item(.refreshToken, of: session.id)
            for (access, refresh) in [("", "r"), ("a", ""), ("", "")] {
                let error = await failure {
                    try await fixture.vault.auth.setTokens(
                        access: access, refresh: refresh, expiresIn: nil, subject: "x")
                }
                #expect(error?.code == .configurationInvalid)
            }
            #expect(try await fixture.store.item(.refreshToken, of: session.id) == before)
        }
    }

    @Test func `when Bob's tokens are set, then Alice's account refuses them`() async throws {
        try await withFixture { fixture in
            let other = try await fixture.signIn()
            let bobs = try await fixture.signIn("bob")
            let session = try await fixture.register()
            let access = try #require(other.accessToken?.value)
            try await fixture.vault.auth.setTokens(access: access, refresh: other.value, expiresIn: .seconds(200))
            #expect(try await session.accessToken().value == access)
            _ = try await session.accessToken(forceRefresh: true)
            #expect(await fixture.refreshes.map(\.presentedGeneration) == [1])
            let before = try await fixture.store.item(.refreshToken, of: session.id)
            let error = await failure {
                try await fixture.vault.auth.setTokens(
                    access: try #require(bobs.accessToken?.value), refresh: bobs.value)
            }
            #expect(error?.code == .tokenInvalid)
            #expect(try await fixture.store.item(.refreshToken, of: session.id) == before)
        }
    }

    @Test func `when no expiry is given, then a default lifetime counts`() async throws {
        try await withFixture { fixture in
            let elsewhere = try await fixture.signIn()
            let access = try #require(elsewhere.accessToken?.value)
            let vault = try await fixture.anotherVault()
            try await vault.auth.setTokens(access: access, refresh: elsewhere.value)
            #expect(try await vault.auth.accessToken().value == access)
            fixture.clock.advance(by: 250)
            #expect(try await vault.auth.accessToken().value != access)
            #expect(await fixture.refreshes.map(\.outcome) == [.ok])
        }
    }

    @Test func `when the account's client ID changes, then nothing is sent`() async throws {
        try await withFixture { fixture in
            let session = try await fixture.register()
            var account = try #require(try await fixture.store.account(session.id))
            account.clientID = "another-client"
            try await fixture.store.apply([.putAccount(account)], to: account.id)
            #expect(await failure { _ = try await session.accessToken(forceRefresh: true) }?.code == .notLoggedIn)
            #expect(await fixture.refreshes == [])
            #expect(try await fixture.refreshMark() == nil)
        }
    }

    @Test func `when tokens are cleared, then the account's items stay`() async throws {
        try await withFixture { fixture in
            let session = try await fixture.register()
            try await fixture.putNote()
            try await fixture.vault.auth.clearTokens()
            #expect(!fixture.vault.auth.isLoggedIn)
            for name in [ItemName.refreshToken, .accessToken, .idToken] {
                #expect(try await fixture.store.item(name, of: session.id) == nil)
            }
            #expect(try await fixture.note(password: Fixture.password) == [1, 2, 3])
            #expect(await failure { try await fixture.login() }?.code == .notLoggedIn)
            // Nobody is logged in, so there is nothing to clear.
            try await fixture.vault.auth.clearTokens()
        }
    }
}
