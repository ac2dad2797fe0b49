import CredentialVault
import Foundation
import Testing
import VaultDevelopment

@Suite struct LogoutTests {
    @Test func `when an account logs out, then access tokens are deleted`() async throws {
        try await withFixture { fixture in
            let session = try await fixture.register()
            let id = session.id
            let sealed = try await fixture.store.item(.refreshToken, of: id)
            try await fixture.vault.auth.logout()
            #expect(!fixture.vault.auth.isLoggedIn)
            #expect(!session.isOpen)
            #expect(await failure { _ = try await session.accessToken() }?.code == .notLoggedIn)
            #expect(await failure { _ = try await session.refreshToken() }?.code == .notLoggedIn)
            #expect(await failure { _ = try await fixture.vault.auth.accessToken() }?.code == .notLoggedIn)
            #expect(try await fixture.store.item(.accessToken, of: id) == nil)
            #expect(try await fixture.store.item(.refreshToken, of: id) == sealed)
            #expect(await fixture.provider.requests.allSatisfy { $0.endpoint != .revocation })
            try await fixture.login()
            try await fixture.vault.auth.logout()
            try await fixture.vault.auth.logout()
        }
    }

    @Test func `when Alice logs out everywhere, then her token is revoked`() async throws {
        try await withFixture { fixture in
            let session = try await fixture.register()
            let reason = try await fixture.vault.auth.logoutEverywhere()
            #expect(reason == nil)
            #expect(await fixture.provider.requests.last?.endpoint == .revocation)
            #expect(await fixture.provider.requests.last?.username == "alice")
            #expect(try await fixture.store.itemNames(of: session.id) == [.idTokenClaims, .seenClock])
            #expect(try await !fixture.vault.storage.hasRefreshToken(userID: "alice"))
            let error = await failure { try await fixture.login() }
            #expect(error?.code == .notLoggedIn)
            #expect(error?.description.contains("Register again") == true)
            try await fixture.vault.auth.logout()
        }
    }

    @Test func `when a session logs out everywhere, then its token is revoked`() async throws {
        try await withFixture { fixture in
            let session = try await fixture.register()
            let updates = fixture.vault.auth.sessionUpdates
            #expect(try await session.logoutEverywhere() == nil)
            let update = await updates.first { _ in true }
            #expect(update?.event == .loggedOut && update?.reason == .everywhere)
            #expect(!session.isOpen && !fixture.vault.auth.isLoggedIn)
            #expect(await fixture.provider.requests.last?.endpoint == .revocation)
            #expect(try await fixture.store.itemNames(of: session.id) == [.idTokenClaims, .seenClock])
            #expect(await failure { _ = try await session.logoutEverywhere() }?.code == .notLoggedIn)
        }
    }

    @Test func `when Bob has logged in, then Alice's session logs nobody out`() async throws {
        try await withFixture { fixture in
            let alice = try await fixture.register("alice")
            let bob = try await fixture.register("bob")
            #expect(await failure { _ = try await alice.logoutEverywhere() }?.code == .notLoggedIn)
            #expect(bob.isOpen && fixture.vault.auth.session === bob)
            #expect(await fixture.provider.requests.allSatisfy { $0.endpoint != .revocation })
        }
    }

    @Test func `when a session cannot revoke its token, then the session ends`() async throws {
        try await withFixture { fixture in
            let session = try await fixture.register()
            let sealed = try await fixture.store.item(.refreshToken, of: session.id)
            await fixture.stopProvider()
            #expect(try await session.logoutEverywhere()?.code == .identityProviderUnavailable)
            #expect(try await fixture.store.item(.refreshToken, of: session.id) == sealed)
            #expect(try await fixture.store.item(.accessToken, of: session.id) == nil)
            #expect(!session.isOpen && !fixture.vault.auth.isLoggedIn)
        }
    }

    @Test func `when a token cannot be revoked, then it stays stored`() async throws {
        try await withFixture { fixture in
            let session = try await fixture.register()
            let sealed = try await fixture.store.item(.refreshToken, of: session.id)
            await fixture.stopProvider()
            let reason = try await fixture.vault.auth.logoutEverywhere()
            #expect(reason?.code == .identityProviderUnavailable)
            #expect(try await fixture.store.item(.refreshToken, of: session.id) == sealed)
            #expect(try await fixture.store.item(.accessToken, of: session.id) == nil)
            #expect(!fixture.vault.auth.isLoggedIn)
        }
    }

    @Test func `when no account is logged in, then logout everywhere fails`() async throws {
        try await withFixture { fixture in
            #expect(await failure { _ = try await fixture.vault.auth.logoutEverywhere() }?.code == .notLoggedIn)
        }
    }

    @Test func `when one account is cleared, then the others stay`() async throws {
        try await withFixture { fixture in
            try await fixture.register("alice")
            try await fixture.register("bob")
            try await fixture.vault.storage.clear(userID: "alice")
            #expect(await failure { try await fixture.login("alice") }?.code == .accountNotFound)
            #expect(await failure { try await fixture.vault.storage.clear(userID: "alice") }?.code == .accountNotFound)
            try await fixture.login("bob")
            #expect(await fixture.provider.requests.allSatisfy { $0.endpoint != .revocation })
        }
    }
}
