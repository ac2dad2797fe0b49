import CredentialVault
import Foundation
import Testing
import VaultDevelopment
import VaultTesting

/// Tokens of an app that logs in without this library.
@Suite struct OutsideTokenTests {
    @Test func `when outside tokens are stored, then the vault renews them`() async throws {
        try await withBench { bench in
            let elsewhere = try await bench.signIn()
            let access = try #require(elsewhere.accessToken?.value)
            let vault = try await bench.anotherVault()
            let token = try await vault.auth.setTokens(access: access, refresh: elsewhere.value)
            // The provider named the owner of the tokens.
            #expect(token.account == elsewhere.account)
            #expect(token.identity.preferredUsername == "alice")
            #expect(vault.auth.isLoggedIn)
            try await vault.storage.storeRefreshToken(
                token, withNewPassword: SecretBytes(utf8: Bench.password))
            #expect(try await vault.auth.accessToken(forceRefresh: true).value != access)
            #expect(await bench.refreshes.map(\.outcome) == [.ok])
        }
    }

    @Test func `when a token is empty, then both tokens are refused`() async throws {
        try await withBench { bench in
            let session = try await bench.register()
            let before = try await bench.store.item(.refreshToken, of: session.id)
            for (access, refresh) in [("", "r"), ("a", ""), ("", "")] {
                let error = await failure {
                    try await bench.vault.auth.setTokens(access: access, refresh: refresh, expiresIn: nil, subject: "x")
                }
                #expect(error?.code == .configurationInvalid)
            }
            #expect(try await bench.store.item(.refreshToken, of: session.id) == before)
        }
    }

    @Test func `when Bob's tokens are set, then Alice's account refuses them`() async throws {
        try await withBench { bench in
            let other = try await bench.signIn()
            let bobs = try await bench.signIn("bob")
            let session = try await bench.register()
            let access = try #require(other.accessToken?.value)
            try await bench.vault.auth.setTokens(access: access, refresh: other.value, expiresIn: .seconds(200))
            #expect(try await session.accessToken().value == access)
            _ = try await session.accessToken(forceRefresh: true)
            #expect(await bench.refreshes.map(\.presentedGeneration) == [1])
            let before = try await bench.store.item(.refreshToken, of: session.id)
            let error = await failure {
                try await bench.vault.auth.setTokens(
                    access: try #require(bobs.accessToken?.value), refresh: bobs.value)
            }
            #expect(error?.code == .tokenInvalid)
            #expect(try await bench.store.item(.refreshToken, of: session.id) == before)
        }
    }

    @Test func `when no expiry is given, then a default lifetime counts`() async throws {
        try await withBench { bench in
            let elsewhere = try await bench.signIn()
            let access = try #require(elsewhere.accessToken?.value)
            let vault = try await bench.anotherVault()
            try await vault.auth.setTokens(access: access, refresh: elsewhere.value)
            #expect(try await vault.auth.accessToken().value == access)
            bench.clock.advance(by: 250)
            #expect(try await vault.auth.accessToken().value != access)
            #expect(await bench.refreshes.map(\.outcome) == [.ok])
        }
    }

    @Test func `when the account's client ID changes, then nothing is sent`() async throws {
        try await withBench { bench in
            let session = try await bench.register()
            var account = try #require(try await bench.store.account(session.id))
            account.clientID = "another-client"
            try await bench.store.apply([.putAccount(account)], to: account.id)
            #expect(await failure { _ = try await session.accessToken(forceRefresh: true) }?.code == .notLoggedIn)
            #expect(await bench.refreshes == [])
            #expect(try await bench.refreshMark() == nil)
        }
    }

    @Test func `when tokens are cleared, then the account's items stay`() async throws {
        try await withBench { bench in
            let session = try await bench.register()
            try await bench.putNote()
            try await bench.vault.auth.clearTokens()
            #expect(!bench.vault.auth.isLoggedIn)
            for name in [ItemName.refreshToken, .accessToken, .idToken] {
                #expect(try await bench.store.item(name, of: session.id) == nil)
            }
            #expect(try await bench.note(password: Bench.password) == [1, 2, 3])
            #expect(await failure { try await bench.login() }?.code == .notLoggedIn)
            // Nobody is logged in, so there is nothing to clear.
            try await bench.vault.auth.clearTokens()
        }
    }
}
