import CredentialVault
import Foundation
import Testing
import VaultDevelopment

/// The state after the provider refuses an account, or the app clears it.
@Suite(.timeLimit(.minutes(1))) struct RefusedSessionTests {
    private func refused(_ fixture: Fixture) async throws -> Session {
        let session = try await fixture.register()
        try await fixture.provider.revokeAllRefreshTokens()
        #expect(await failure { _ = try await session.accessToken(forceRefresh: true) }?.code == .refreshTokenExpired)
        return session
    }

    private func event(_ updates: AsyncStream<SessionUpdate>) async -> SessionUpdate? {
        await updates.first { _ in true }
    }

    @Test func `when a session is refused, then only its items open`() async throws {
        try await withFixture { fixture in
            let session = try await refused(fixture)
            let auth = fixture.vault.auth
            #expect(try await fixture.store.item(.accessToken, of: session.id) == nil)
            #expect(try await fixture.store.item(.refreshToken, of: session.id) != nil)
            let calls: [() async throws -> Void] = [
                { _ = try await session.accessToken() }, { _ = try await auth.accessToken() },
                { _ = try await session.refreshToken() }, { _ = try await auth.refreshToken },
                { _ = try await auth.userInfo() },
                { _ = try await session.accessToken(minimumValidity: .zero) },
            ]
            for call in calls { #expect(await failure(call)?.code == .refreshTokenExpired) }
            #expect(!auth.isLoggedIn)
            // The sealed data in the account is the person's own.
            let key = try await session.openVaultKey()
            try await fixture.store.apply(
                [.putItem(Fixture.note, await key.seal([1, 2, 3], as: Fixture.note, of: session.id))], to: session.id)
            let sealed = try #require(try await fixture.store.item(Fixture.note, of: session.id))
            #expect(try await key.open(sealed, as: Fixture.note, of: session.id) == [1, 2, 3])
            let restored = try await auth.restoreSession(userID: "alice")
            guard restored.state == .expired, let error = restored.error else {
                return #expect(Bool(false), "the provider refused it")
            }
            #expect(error.code == .refreshTokenExpired)
            // Locking removes the key. The end of the session was reported before.
            let updates = auth.sessionUpdates
            await auth.lock()
            #expect(await failure { _ = try await session.openVaultKey() }?.code == .refreshTokenExpired)
            try await auth.logout()
            #expect(await event(updates)?.reason == .requested)
        }
    }

    @Test func `when an account is refused, then other programs get nothing`() async throws {
        try await withFixture { fixture in
            _ = try await refused(fixture)
            let vault = try await fixture.anotherVault()
            let session = try await vault.auth.unlock(userID: "alice", password: SecretBytes(utf8: Fixture.password))
            #expect(await failure { _ = try await session.accessToken() }?.code == .refreshTokenExpired)
        }
    }

    @Test func `when new tokens are set, then a refused session returns`() async throws {
        try await withFixture { fixture in
            let session = try await refused(fixture)
            let other = try await fixture.signIn()
            let access = try #require(other.accessToken?.value)
            let updates = fixture.vault.auth.sessionUpdates
            #expect(await failure { _ = try await session.accessToken() }?.code == .refreshTokenExpired)
            try await fixture.vault.auth.setTokens(access: access, refresh: other.value, expiresIn: .seconds(200))
            #expect(try await session.accessToken().value == access)
            #expect(fixture.vault.auth.isLoggedIn)
            #expect(await event(updates)?.event == .loggedIn)
        }
    }

    @Test func `when user information is refused, then one refresh follows`() async throws {
        try await withFixture { fixture in
            let session = try await fixture.register()
            let old = try await session.accessToken().value
            try await fixture.provider.invalidateAccessTokens()
            #expect(try await fixture.vault.auth.userInfo().preferredUsername == "alice")
            #expect(try await session.accessToken().value != old)
            #expect(await fixture.refreshes.count == 1)
            await fixture.provider.setFault(.status(401), at: .userInfo)
            let error = await failure { _ = try await fixture.vault.auth.userInfo() }
            #expect(error?.code == .tokenInvalid)
            #expect(await fixture.refreshes.count == 2)
            await fixture.provider.setFault(.status(403), at: .userInfo)
            #expect(await failure { _ = try await fixture.vault.auth.userInfo() }?.code == .tokenInvalid)
            #expect(await fixture.refreshes.count == 2)
        }
    }

    @Test(arguments: [false, true])
    func `when the open account is cleared, then its session ends`(isLocked: Bool) async throws {
        try await withFixture { fixture in
            let session = try await fixture.register()
            if isLocked { await fixture.vault.auth.lock() }
            let updates = fixture.vault.auth.sessionUpdates
            try await fixture.vault.storage.clear(userID: "alice")
            let update = await event(updates)
            #expect((update?.account, update?.event, update?.reason) == (session.id, .loggedOut, .deleted))
            #expect(!session.isOpen && fixture.vault.auth.session == nil && !fixture.vault.auth.isLoggedIn)
        }
    }

    @Test func `when another account is cleared, then the session stays`() async throws {
        try await withFixture { fixture in
            try await fixture.register("bob")
            let session = try await fixture.register("alice")
            try await fixture.vault.storage.clear(userID: "bob")
            #expect(session.isOpen && fixture.vault.auth.isLoggedIn)
        }
    }

    @Test func `when tokens are cleared after locking, then a logout follows`() async throws {
        try await withFixture { fixture in
            let session = try await fixture.register()
            await fixture.vault.auth.lock()
            let updates = fixture.vault.auth.sessionUpdates
            try await fixture.vault.auth.clearTokens()
            let update = await event(updates)
            #expect((update?.account, update?.event, update?.reason) == (session.id, .loggedOut, .requested))
            for name in [ItemName.refreshToken, .accessToken, .idToken] {
                #expect(try await fixture.store.item(name, of: session.id) == nil)
            }
        }
    }

    @Test func `when tokens are set, then listeners get an update`() async throws {
        try await withFixture { fixture in
            let first = try await fixture.signIn()
            let access = try #require(first.accessToken?.value)
            try await fixture.register()
            let updates = fixture.vault.auth.sessionUpdates
            try await fixture.vault.auth.setTokens(access: access, refresh: first.value)
            #expect(await event(updates)?.event == .refreshed)
            try await fixture.vault.auth.logout()
            let later = fixture.vault.auth.sessionUpdates
            try await fixture.vault.auth.setTokens(access: access, refresh: first.value)
            #expect(await event(later)?.event == .loggedIn)
            #expect(fixture.vault.auth.isLoggedIn)
        }
    }

    @Test func `when another program registers again, then setting tokens fails`() async throws {
        try await withFixture { fixture in
            let other = try await fixture.signIn()
            let session = try await fixture.register()
            let vault = try await fixture.anotherVault()
            try await vault.storage.storeRefreshToken(
                fixture.signIn(), withNewPassword: SecretBytes(utf8: "another long one 7"))
            let names = [ItemName.refreshToken, .accessToken]
            var before: [[UInt8]?] = []
            for name in names { before.append(try await fixture.store.item(name, of: session.id)) }
            let error = await failure {
                try await fixture.vault.auth.setTokens(
                    access: try #require(other.accessToken?.value), refresh: other.value)
            }
            #expect(error?.code == .notLoggedIn)
            for (name, sealed) in zip(names, before) {
                #expect(try await fixture.store.item(name, of: session.id) == sealed)
            }
            _ = try await vault.auth.accessToken(forceRefresh: true)
        }
    }

    @Test func `when the account changes or vanishes, then setting tokens fails`() async throws {
        try await withFixture { fixture in
            let other = try await fixture.signIn()
            let access = try #require(other.accessToken?.value)
            let session = try await fixture.register()
            var account = try #require(try await fixture.store.account(session.id))
            account.clientID = "another-client"
            try await fixture.store.apply([.putAccount(account)], to: account.id)
            let error = await failure { try await fixture.vault.auth.setTokens(access: access, refresh: other.value) }
            #expect(error?.code == .notLoggedIn)
            try await fixture.store.apply([.removeAccount], to: account.id)
            let gone = await failure { try await fixture.vault.auth.setTokens(access: access, refresh: other.value) }
            #expect(gone?.code == .accountNotFound)
        }
    }
}
