import CredentialVault
import Foundation
import Testing
import VaultDevelopment

/// The updates about sessions that listeners get.
@Suite struct SessionUpdateTests {
    /// The updates so far, each as "EVENT" or "EVENT: REASON".
    private func told(_ updates: AsyncStream<SessionUpdate>, count: Int) async -> [String] {
        var told: [String] = []
        guard count > 0 else { return told }
        for await update in updates {
            told.append(update.event.description + (update.reason.map { ": \($0)" } ?? ""))
            if told.count == count { break }
        }
        return told
    }

    @Test func `when several listeners exist, then each gets every update`() async throws {
        try await withFixture { fixture in
            let auth = fixture.vault.auth
            let slow = auth.sessionUpdates
            let fast = auth.sessionUpdates
            let live = Task { await told(fast, count: 8) }
            let abandoned = auth.sessionUpdates
            _ = abandoned  // a listener that never listens holds up nobody
            try await fixture.register()
            _ = try await auth.accessToken(forceRefresh: true)
            await fixture.provider.setFault(.status(503), times: 1)
            _ = await failure { _ = try await auth.accessToken(forceRefresh: true) }
            try await auth.logout()
            try await fixture.login()
            await auth.lock()
            let expected = [
                "logged in", "refreshed", "refresh failed", "logged out: requested", "logged in", "refreshed",
                "locked: requested",
            ]
            #expect(await told(slow, count: expected.count) == expected)
            try await fixture.login()
            #expect(await live.value == expected + ["logged in"])
            // A late listener gets only later updates.
            let late = auth.sessionUpdates
            try await auth.logout()
            #expect(await told(late, count: 1) == ["logged out: requested"])
        }
    }

    @Test func `when a session ends, then the update names the reason`() async throws {
        try await withFixture { fixture in
            let auth = fixture.vault.auth
            try await fixture.register("alice")
            let updates = auth.sessionUpdates
            try await fixture.register("bob")
            #expect(await told(updates, count: 2) == ["logged out: replaced", "logged in"])

            let refused = auth.sessionUpdates
            try await fixture.provider.revokeAllRefreshTokens()
            _ = await failure { _ = try await auth.accessToken(forceRefresh: true) }
            var iterator = refused.makeAsyncIterator()
            let update = await iterator.next()
            #expect(update?.event == .loggedOut)
            #expect(update?.reason == .refused)
            #expect(update?.error?.code == .refreshTokenExpired)
            #expect(update?.account == (try await fixture.id("bob")))

            try await fixture.register("alice", password: "another long one 7")
            let deleted = auth.sessionUpdates
            _ = try await auth.deleteAccount()
            #expect(await told(deleted, count: 1) == ["logged out: deleted"])

            try await fixture.register("alice")
            let everywhere = auth.sessionUpdates
            #expect(try await auth.logoutEverywhere() == nil)
            #expect(await told(everywhere, count: 1) == ["logged out: everywhere"])
        }
    }

    @Test func `when an app logs an update, then its names are stable words`() async throws {
        try await withFixture { fixture in
            try await fixture.register()
            let updates = fixture.vault.auth.sessionUpdates
            await fixture.vault.auth.lock(.backgroundTimeout)
            let update = await updates.first { _ in true }
            #expect(update?.event.name == "locked" && update?.reason?.name == "backgroundTimeout")
            #expect(update?.reason?.description == "background timeout")
            #expect(SessionUpdate.Event.refreshFailed.name == "refreshFailed")
            let restored = try await fixture.vault.auth.restoreSession(userID: "nobody")
            #expect(restored.state.name == "absent")
        }
    }

    @Test func `when an account is locked, then unlocking opens it again`() async throws {
        try await withFixture { fixture in
            let session = try await fixture.register()
            await fixture.vault.auth.lock()
            #expect(!session.isOpen)
            #expect(!fixture.vault.auth.isLoggedIn)
            #expect(await failure { _ = try await session.accessToken() }?.code == .notLoggedIn)
            // The data is still on the disk.
            #expect(try await fixture.store.item(.accessToken, of: session.id) != nil)
            _ = try await fixture.vault.auth.unlock(userID: "alice", password: SecretBytes(utf8: Fixture.password))
            #expect(fixture.vault.auth.isLoggedIn)
        }
    }
}

/// The state of a login after the program was started again.
@Suite struct RestoreTests {
    private func restore(_ vault: Vault, _ password: String = Fixture.password) async throws -> RestoredSession {
        try await vault.auth.restoreSession(userID: "alice", password: SecretBytes(utf8: password))
    }

    @Test func `when a session is restored, then its state is reported`() async throws {
        try await withFixture { fixture in
            guard try await fixture.vault.auth.restoreSession(userID: "alice").state == .absent,
                try await restore(fixture.vault).state == .absent
            else { return #expect(Bool(false), "nobody is registered yet") }
            try await fixture.register()
            guard try await fixture.vault.auth.restoreSession(userID: "alice").state == .verified else {
                return #expect(Bool(false), "the session is open")
            }
            let vault = try await fixture.anotherVault()
            let restored = try await vault.auth.restoreSession(userID: "alice")
            guard restored.state == .locked, let account = restored.account else {
                return #expect(Bool(false), "it is locked")
            }
            #expect(account.preferredUsername == "alice")
            #expect(!vault.auth.isLoggedIn)
            #expect(await failure { _ = try await restore(vault, "wrong") }?.code == .wrongSecret)
            let opened = try await restore(vault)
            guard opened.state == .verified, let session = opened.session else {
                return #expect(Bool(false), "the provider takes it")
            }
            #expect(session.isOpen)
            #expect(await fixture.refreshes.count == 1)
        }
    }

    @Test func `when the provider fails, then a restored session is unverified`() async throws {
        try await withFixture { fixture in
            try await fixture.register()
            let vault = try await fixture.anotherVault()
            await fixture.provider.setFault(.status(503))
            let restored = try await restore(vault)
            guard restored.state == .unverified, let session = restored.session, let error = restored.error else {
                return #expect(Bool(false), "the provider cannot be asked")
            }
            #expect(error.code == .identityProviderUnavailable)
            #expect(vault.auth.isLoggedIn)
            await fixture.provider.setFault(nil)
            _ = try await session.accessToken(forceRefresh: true)
            #expect(await fixture.refreshes.map(\.outcome).last == .ok)
        }
    }

    @Test func `when the provider answers, then restoring counts as login`() async throws {
        try await withFixture { fixture in
            try await fixture.register()
            let vault = try await fixture.anotherVault()
            let updates = vault.auth.sessionUpdates
            await fixture.provider.setFault(.delay, times: 1)
            let restoring = Task { try await restore(vault) }
            await fixture.provider.waitUntilDelayed()
            #expect(!vault.auth.isLoggedIn)
            await fixture.provider.releaseDelayed()
            _ = try await restoring.value
            #expect(vault.auth.isLoggedIn)
            let events = await updates.prefix(2).reduce(into: []) { $0.append($1.event) }
            #expect(events == [.refreshed, .loggedIn])
        }
    }

    @Test func `when another program logs out everywhere, then the session ends`() async throws {
        try await withFixture { fixture in
            let session = try await fixture.register()
            let other = try await fixture.anotherVault()
            try await other.auth.login(userID: "alice", password: SecretBytes(utf8: Fixture.password))
            #expect(try await other.auth.logoutEverywhere() == nil)
            let updates = fixture.vault.auth.sessionUpdates
            #expect(await failure { _ = try await session.accessToken(forceRefresh: true) }?.code == .notLoggedIn)
            #expect(!fixture.vault.auth.isLoggedIn)
            let update = await updates.first { _ in true }
            #expect(update?.event == .loggedOut)
            #expect(update?.reason == .everywhere)
        }
    }

    @Test func `when the refresh token is revoked, then restoring reports expiry`() async throws {
        try await withFixture { fixture in
            try await fixture.register()
            let vault = try await fixture.anotherVault()
            try await fixture.provider.revokeAllRefreshTokens()
            let restored = try await restore(vault)
            guard restored.state == .expired, let error = restored.error else {
                return #expect(Bool(false), "the provider revoked it")
            }
            #expect(error.code == .refreshTokenExpired)
            #expect(!vault.auth.isLoggedIn)
        }
    }
}
