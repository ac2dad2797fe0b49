import CredentialVault
import Foundation
import Testing
import VaultDevelopment
import VaultTesting

@Suite struct LogoutTests {
    @Test func `logging out forgets the access token, and the password opens the account again`() async throws {
        try await withBench { bench in
            let session = try await bench.register()
            let id = session.id
            let sealed = try await bench.store.item(.refreshToken, of: id)
            try await bench.vault.auth.logout()
            #expect(!bench.vault.auth.isLoggedIn)
            #expect(!session.isOpen)
            #expect(await failure { _ = try await session.accessToken() }?.code == .notLoggedIn)
            #expect(await failure { _ = try await session.refreshToken() }?.code == .notLoggedIn)
            #expect(await failure { _ = try await bench.vault.auth.accessToken() }?.code == .notLoggedIn)
            #expect(try await bench.store.item(.accessToken, of: id) == nil)
            #expect(try await bench.store.item(.refreshToken, of: id) == sealed)
            #expect(await bench.provider.requests.allSatisfy { $0.endpoint != .revocation })
            try await bench.login()
            try await bench.vault.auth.logout()
            try await bench.vault.auth.logout()
        }
    }

    @Test func `logging out everywhere revokes and removes the refresh token`() async throws {
        try await withBench { bench in
            let session = try await bench.register()
            let reason = try await bench.vault.auth.logoutEverywhere()
            #expect(reason == nil)
            #expect(await bench.provider.requests.last?.endpoint == .revocation)
            #expect(await bench.provider.requests.last?.username == "alice")
            #expect(try await bench.store.itemNames(of: session.id) == [.idTokenClaims, .seenClock])
            #expect(try await !bench.vault.storage.hasRefreshToken(userID: "alice"))
            let error = await failure { try await bench.login() }
            #expect(error?.code == .notLoggedIn)
            #expect(error?.description.contains("Register again") == true)
            try await bench.vault.auth.logout()
        }
    }

    @Test func `a token that could not be revoked stays, to try again`() async throws {
        try await withBench { bench in
            let session = try await bench.register()
            let sealed = try await bench.store.item(.refreshToken, of: session.id)
            await bench.stopProvider()
            let reason = try await bench.vault.auth.logoutEverywhere()
            #expect(reason?.code == .identityProviderUnavailable)
            #expect(try await bench.store.item(.refreshToken, of: session.id) == sealed)
            #expect(try await bench.store.item(.accessToken, of: session.id) == nil)
            #expect(!bench.vault.auth.isLoggedIn)
        }
    }

    @Test func `only who is logged in can log out everywhere`() async throws {
        try await withBench { bench in
            #expect(await failure { _ = try await bench.vault.auth.logoutEverywhere() }?.code == .notLoggedIn)
        }
    }

    @Test func `clearing removes one account and nothing else`() async throws {
        try await withBench { bench in
            try await bench.register("alice")
            try await bench.register("bob")
            try await bench.vault.storage.clear(userID: "alice")
            #expect(await failure { try await bench.login("alice") }?.code == .accountNotFound)
            #expect(await failure { try await bench.vault.storage.clear(userID: "alice") }?.code == .accountNotFound)
            try await bench.login("bob")
            #expect(await bench.provider.requests.allSatisfy { $0.endpoint != .revocation })
        }
    }
}
