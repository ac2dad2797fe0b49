import CredentialVault
import Foundation
import Testing
import VaultDevelopment

@Suite struct LogoutTests {
    @Test func `when an account logs out, then its access token goes`() async throws {
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

    @Test func `when Alice logs out everywhere, then her token is revoked`() async throws {
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

    @Test func `when a token cannot be revoked, then it stays stored`() async throws {
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

    @Test func `when no account is logged in, then logout everywhere fails`() async throws {
        try await withBench { bench in
            #expect(await failure { _ = try await bench.vault.auth.logoutEverywhere() }?.code == .notLoggedIn)
        }
    }

    @Test func `when one account is cleared, then the others stay`() async throws {
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
