import CredentialVault
import Foundation
import TestSupport
import Testing
import VaultDevelopment
import VaultTesting

@Suite struct RefreshTests {
    @Test func `when the access token is valid, then no refresh happens`() async throws {
        try await withBench { bench in
            let registered = try await bench.register().accessToken()
            let session = try await bench.vault.auth.unlock(
                userID: "alice", password: SecretBytes(utf8: Bench.password))
            #expect(try await session.accessToken().value == registered.value)
            bench.clock.advance(by: 239)
            #expect(try await session.accessToken().value == registered.value)
            #expect(await bench.refreshes.count == 0)
            // 60 seconds before its end the token is too old, unless the caller needs less time.
            bench.clock.advance(by: 2)
            #expect(try await session.accessToken(minimumValidity: .seconds(10)).value == registered.value)
            let fresh = try await session.accessToken()
            #expect(fresh.value != registered.value)
            #expect(try await session.accessToken().value == fresh.value)
            #expect(await bench.refreshes.count == 1)
            #expect(try await session.accessToken(forceRefresh: true).value != fresh.value)
            #expect(await bench.refreshes.count == 2)
        }
    }

    @Test func `when a refresh runs, then callers wait for the store`() async throws {
        let base = InMemoryStore()
        try await withBench(store: base) { bench in
            try await bench.register()
            let (commits, commitReached) = AsyncStream.makeStream(of: Void.self)
            let (gate, openGate) = AsyncStream.makeStream(of: Void.self)
            let (asked, seen) = (Counter(), Counter())
            let provider = bench.provider
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
            let session = try await bench.anotherVault(store: store).auth.unlock(
                userID: "alice", password: SecretBytes(utf8: Bench.password))
            let caller = Task {
                let token = try await session.accessToken(forceRefresh: true)
                seen.increment()
                return token.value
            }
            for await _ in commits { break }
            // The provider has answered. A token that does not wait until it is stored would arrive now.
            for _ in 0..<10_000 { await Task.yield() }
            #expect(await bench.refreshes.count == 1)
            #expect(asked.value == 0)
            #expect(try await bench.refreshMark() == bench.clock.now)
            #expect(seen.value == 0)
            openGate.yield()
            #expect(try await session.accessToken().value == caller.value)
            #expect(try await bench.refreshMark() == nil)
        }
    }

    @Test func `when a hundred callers wait, then one refresh serves all`() async throws {
        try await withBench { bench in
            let session = try await bench.register()
            bench.clock.advance(by: 300)
            await bench.provider.setFault(.delay, times: 1)
            let callers = (0..<100).map { _ in Task { try await session.accessToken().value } }
            await bench.provider.waitUntilDelayed()
            await bench.provider.releaseDelayed()
            var tokens: Set<String> = []
            for caller in callers { tokens.insert(try await caller.value) }
            #expect(tokens.count == 1)
            #expect(await bench.refreshes.count == 1)
        }
    }

    @Test func `when a caller is cancelled, then the refresh goes on`() async throws {
        try await withBench { bench in
            let session = try await bench.register()
            await bench.provider.setFault(.delay, times: 1)
            let impatient = Task { try await session.accessToken(forceRefresh: true).value }
            await bench.provider.waitUntilDelayed()
            let patient = Task { try await session.accessToken(forceRefresh: true).value }
            impatient.cancel()
            await bench.provider.releaseDelayed()
            let token = try await patient.value
            _ = try? await impatient.value
            #expect(try await session.accessToken().value == token)
            #expect(try await bench.refreshMark() == nil)
            try await bench.login()
            #expect(await bench.refreshes.allSatisfy { $0.outcome == .ok })
        }
    }

    @Test func `when calls overlap, then the forced call gets another token`() async throws {
        try await withBench { bench in
            let old = try await bench.register().accessToken().value
            let session = try await bench.vault.auth.unlock(
                userID: "alice", password: SecretBytes(utf8: Bench.password))
            let id = session.id
            let (modest, insistent) = try await bench.store.withLock(on: id) { _ in
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
        try await withBenchOnDisk { bench, folder in
            try await bench.register()
            var sessions: [Session] = []
            for _ in 0..<3 {
                let vault = try await bench.anotherVault(store: SQLiteStore(folder: folder))
                sessions.append(
                    try await vault.auth.unlock(userID: "alice", password: SecretBytes(utf8: Bench.password)))
            }
            for _ in 0..<5 {
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for session in sessions {
                        group.addTask { _ = try await session.accessToken(forceRefresh: true) }
                    }
                    try await group.waitForAll()
                }
            }
            let refreshes = await bench.refreshes
            #expect(refreshes.count == 15)
            #expect(refreshes.map(\.presentedGeneration) == Array(1...15))
            #expect(refreshes.allSatisfy { $0.outcome == .ok })
        }
    }

    @Test func `when another program refreshes meanwhile, then its token is shared`() async throws {
        try await withBench { bench in
            let first = try await bench.register()
            let second = try await bench.anotherVault().auth.unlock(
                userID: "alice", password: SecretBytes(utf8: Bench.password))
            await bench.provider.setFault(.delay, times: 1)
            let early = Task { try await first.accessToken(forceRefresh: true).value }
            await bench.provider.waitUntilDelayed()
            let late = Task { try await second.accessToken(forceRefresh: true).value }
            for _ in 0..<100 { await Task.yield() }
            bench.clock.advance(by: 1)
            await bench.provider.releaseDelayed()
            #expect(try await early.value == late.value)
            #expect(await bench.refreshes.count == 1)
        }
    }

    @Test func `when no refresh token comes, then the old one stays`() async throws {
        try await withBench { bench in
            let session = try await bench.register()
            let before = try await session.refreshToken().value
            await bench.provider.setFault(.omitRefreshToken, times: 1)
            _ = try await session.accessToken(forceRefresh: true)
            #expect(try await session.refreshToken().value == before)
            _ = try await session.accessToken(forceRefresh: true)
            #expect(await bench.refreshes.map(\.presentedGeneration) == [1, 1])
        }
    }

    @Test func `when no scope is returned, then the last scope counts`() async throws {
        try await withBench { bench in
            let session = try await bench.register()
            let full = try await session.accessToken().scope
            #expect(full == "openid profile email offline_access")
            await bench.provider.setFault(.scope(nil), times: 1)
            #expect(try await session.accessToken(forceRefresh: true).scope == full)
            await bench.provider.setFault(.scope("openid"), times: 1)
            #expect(try await session.accessToken(forceRefresh: true).scope == "openid")
            await bench.provider.setFault(.scope(nil), times: 1)
            #expect(try await session.accessToken(forceRefresh: true).scope == "openid")
        }
    }

    @Test func `when a session locks meanwhile, then the refresh is stored`() async throws {
        try await withBench { bench in
            let session = try await bench.register()
            await bench.provider.setFault(.delayAnswer, times: 1)
            let caller = Task { try await session.accessToken(forceRefresh: true).value }
            await bench.provider.waitUntilDelayed()
            await session.lock()
            #expect(await failure { _ = try await session.accessToken() }?.code == .notLoggedIn)
            await bench.provider.releaseDelayed()
            _ = try? await caller.value
            #expect(await failure { _ = try await session.accessToken() }?.code == .notLoggedIn)
            try await bench.login()
            #expect(await bench.refreshes.map(\.presentedGeneration) == [1, 2])
            #expect(await bench.refreshes.allSatisfy { $0.outcome == .ok })
        }
    }

    @Test func `when an account uses OpenID, then no layout is stored`() async throws {
        try await withBench { bench in
            try await bench.register()
            _ = try await bench.vault.auth.accessToken(forceRefresh: true)
            #expect(try await bench.vault.storage.account(userID: "alice").layout == nil)
        }
    }
}
