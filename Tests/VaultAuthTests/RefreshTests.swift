import CredentialVault
import Foundation
import TestSupport
import Testing
import VaultDevelopment
import VaultTesting

@Suite struct RefreshTests {
    @Test func `when the access token is valid, then no refresh happens`() async throws {
        try await withFixture { fixture in
            let registered = try await fixture.register().accessToken()
            let session = try await fixture.vault.auth.unlock(
                userID: "alice", password: SecretBytes(utf8: Fixture.password))
            #expect(try await session.accessToken().value == registered.value)
            fixture.clock.advance(by: 239)
            #expect(try await session.accessToken().value == registered.value)
            #expect(await fixture.refreshes.count == 0)
            // 60 seconds before its end the token is too old, unless the caller needs less time.
            fixture.clock.advance(by: 2)
            #expect(try await session.accessToken(minimumValidity: .seconds(10)).value == registered.value)
            let fresh = try await session.accessToken()
            #expect(fresh.value != registered.value)
            #expect(try await session.accessToken().value == fresh.value)
            #expect(await fixture.refreshes.count == 1)
            #expect(try await session.accessToken(forceRefresh: true).value != fresh.value)
            #expect(await fixture.refreshes.count == 2)
        }
    }

    @Test func `when a refresh runs, then callers wait for the store`() async throws {
        let base = InMemoryStore()
        try await withFixture(store: base) { fixture in
            try await fixture.register()
            let (commits, commitReached) = AsyncStream.makeStream(of: Void.self)
            let (gate, openGate) = AsyncStream.makeStream(of: Void.self)
            let (asked, seen) = (Counter(), Counter())
            let provider = fixture.provider
            let store = WatchedStore(base: base) { changes in
                if changes.beginsRefresh {
                    for request in await provider.requests where request.grantType == "refresh_token" {
                        asked.increment()
                    }
                } else if changes.storesRefreshToken {
                    commitReached.yield()
                    for await _ in gate { return }
                }
            }
            let session = try await fixture.anotherVault(store: store).auth.unlock(
                userID: "alice", password: SecretBytes(utf8: Fixture.password))
            let caller = Task {
                let token = try await session.accessToken(forceRefresh: true)
                seen.increment()
                return token.value
            }
            for await _ in commits { break }
            // The provider has answered. A token that does not wait until it is stored would arrive now.
            for _ in 0..<10_000 { await Task.yield() }
            #expect(await fixture.refreshes.count == 1)
            #expect(asked.value == 0)
            #expect(try await fixture.refreshMark() == fixture.clock.now)
            #expect(seen.value == 0)
            openGate.yield()
            #expect(try await session.accessToken().value == caller.value)
            #expect(try await fixture.refreshMark() == nil)
        }
    }

    @Test func `when a hundred callers wait, then one refresh serves all`() async throws {
        try await withFixture { fixture in
            let session = try await fixture.register()
            fixture.clock.advance(by: 300)
            await fixture.provider.setFault(.delay, times: 1)
            let callers = (0..<100).map { _ in Task { try await session.accessToken().value } }
            await fixture.provider.waitUntilDelayed()
            await fixture.provider.releaseDelayed()
            var tokens: Set<String> = []
            for caller in callers { tokens.insert(try await caller.value) }
            #expect(tokens.count == 1)
            #expect(await fixture.refreshes.count == 1)
        }
    }

    @Test func `when a caller is cancelled, then the refresh goes on`() async throws {
        try await withFixture { fixture in
            let session = try await fixture.register()
            await fixture.provider.setFault(.delay, times: 1)
            let impatient = Task { try await session.accessToken(forceRefresh: true).value }
            await fixture.provider.waitUntilDelayed()
            let patient = Task { try await session.accessToken(forceRefresh: true).value }
            impatient.cancel()
            await fixture.provider.releaseDelayed()
            let token = try await patient.value
            _ = try? await impatient.value
            #expect(try await session.accessToken().value == token)
            #expect(try await fixture.refreshMark() == nil)
            try await fixture.login()
            #expect(await fixture.refreshes.allSatisfy { $0.outcome == .ok })
        }
    }

    @Test func `when calls overlap, then the forced call gets another token`() async throws {
        try await withFixture { fixture in
            let old = try await fixture.register().accessToken().value
            let session = try await fixture.vault.auth.unlock(
                userID: "alice", password: SecretBytes(utf8: Fixture.password))
            let id = session.id
            let (modest, insistent) = try await fixture.store.withLock(on: id) { _ in
                let modest = Task { try await session.accessToken().value }
                for _ in 0..<5000 { await Task.yield() }
                let insistent = Task { try await session.accessToken(forceRefresh: true).value }
                for _ in 0..<100 { await Task.yield() }
                return (modest, insistent)
            }
            #expect(try await modest.value == old)
            #expect(try await insistent.value != old)
        }
    }

    @Test func `when programs share a folder, then no refresh token repeats`() async throws {
        try await withFixtureOnDisk { fixture, folder in
            try await fixture.register()
            var sessions: [Session] = []
            for _ in 0..<3 {
                let vault = try await fixture.anotherVault(store: SQLiteStore(folder: folder))
                sessions.append(
                    try await vault.auth.unlock(userID: "alice", password: SecretBytes(utf8: Fixture.password)))
            }
            for _ in 0..<5 {
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for session in sessions {
                        group.addTask { _ = try await session.accessToken(forceRefresh: true) }
                    }
                    try await group.waitForAll()
                }
            }
            let refreshes = await fixture.refreshes
            #expect(refreshes.count == 15)
            #expect(refreshes.map(\.presentedGeneration) == Array(1...15))
            #expect(refreshes.allSatisfy { $0.outcome == .ok })
        }
    }

    @Test func `when another program refreshes meanwhile, then its token is shared`() async throws {
        try await withFixture { fixture in
            let first = try await fixture.register()
            let second = try await fixture.anotherVault().auth.unlock(
                userID: "alice", password: SecretBytes(utf8: Fixture.password))
            await fixture.provider.setFault(.delay, times: 1)
            let early = Task { try await first.accessToken(forceRefresh: true).value }
            await fixture.provider.waitUntilDelayed()
            let late = Task { try await second.accessToken(forceRefresh: true).value }
            for _ in 0..<100 { await Task.yield() }
            fixture.clock.advance(by: 1)
            await fixture.provider.releaseDelayed()
            #expect(try await early.value == late.value)
            #expect(await fixture.refreshes.count == 1)
        }
    }

    @Test func `when no refresh token comes, then the old one stays`() async throws {
        try await withFixture { fixture in
            let session = try await fixture.register()
            let before = try await session.refreshToken().value
            await fixture.provider.setFault(.omitRefreshToken, times: 1)
            _ = try await session.accessToken(forceRefresh: true)
            #expect(try await session.refreshToken().value == before)
            _ = try await session.accessToken(forceRefresh: true)
            #expect(await fixture.refreshes.map(\.presentedGeneration) == [1, 1])
        }
    }

    @Test func `when no scope is returned, then the last scope counts`() async throws {
        try await withFixture { fixture in
            let session = try await fixture.register()
            let full = try await session.accessToken().scope
            #expect(full == "openid profile email offline_access")
            await fixture.provider.setFault(.scope(nil), times: 1)
            #expect(try await session.accessToken(forceRefresh: true).scope == full)
            await fixture.provider.setFault(.scope("openid"), times: 1)
            #expect(try await session.accessToken(forceRefresh: true).scope == "openid")
            await fixture.provider.setFault(.scope(nil), times: 1)
            #expect(try await session.accessToken(forceRefresh: true).scope == "openid")
        }
    }

    @Test func `when a session locks meanwhile, then the refresh is stored`() async throws {
        try await withFixture { fixture in
            let session = try await fixture.register()
            await fixture.provider.setFault(.delayAnswer, times: 1)
            let caller = Task { try await session.accessToken(forceRefresh: true).value }
            await fixture.provider.waitUntilDelayed()
            await session.lock()
            #expect(await failure { _ = try await session.accessToken() }?.code == .notLoggedIn)
            await fixture.provider.releaseDelayed()
            _ = try? await caller.value
            #expect(await failure { _ = try await session.accessToken() }?.code == .notLoggedIn)
            try await fixture.login()
            #expect(await fixture.refreshes.map(\.presentedGeneration) == [1, 2])
            #expect(await fixture.refreshes.allSatisfy { $0.outcome == .ok })
        }
    }

    @Test func `when an account uses OpenID, then no layout is stored`() async throws {
        try await withFixture { fixture in
            try await fixture.register()
            _ = try await fixture.vault.auth.accessToken(forceRefresh: true)
            #expect(try await fixture.vault.storage.account(userID: "alice").layout == nil)
        }
    }
}
