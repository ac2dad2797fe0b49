import CredentialVault
import Testing
import VaultAuth
import VaultDevelopment
import VaultTesting

/// A key service whose answers are held back until a test lets them go.
private final class GatedKeyService: KeyService {
    private let base: any KeyService
    private let arrivals = AsyncStream<Void>.makeStream()
    private let gate = AsyncStream<Void>.makeStream()

    init(_ base: any KeyService) { self.base = base }

    func waitForCalls(_ count: Int) async { for await _ in arrivals.stream.prefix(count) {} }
    func open() { gate.continuation.finish() }

    func createKey(secret: borrowing SecretBytes) async throws -> ReleasedKey {
        try await base.createKey(secret: secret)
    }

    func releaseKey(id: String, secret: borrowing SecretBytes, kind: KeySecretKind) async throws -> ReleasedKey {
        let key = try await base.releaseKey(id: id, secret: secret, kind: kind)
        arrivals.continuation.yield()
        for await _ in gate.stream {}
        return key
    }

    func checkReachable() async throws { try await base.checkReachable() }
    func endKey(id: String) async throws { try await base.endKey(id: id) }
}

/// Events while an account is being opened, and the state after a session ends.
@Suite(.timeLimit(.minutes(1))) struct RaceTests {
    @Test(arguments: ["lock", "logout", "logoutEverywhere", "clearTokens"])
    func `when a lock interrupts a login, then no session opens`(how: String) async throws {
        try await withFixture { fixture in
            try await fixture.register()
            let keyService = GatedKeyService(fixture.keyService)
            let vault = try await fixture.anotherVault(keyService: keyService)
            async let login = failure {
                try await vault.auth.login(userID: "alice", password: SecretBytes(utf8: Fixture.password))
            }
            await keyService.waitForCalls(1)
            switch how {
            case "lock": await vault.auth.lock()
            case "logout": try await vault.auth.logout()
            case "clearTokens": try await vault.auth.clearTokens()
            default: _ = try? await vault.auth.logoutEverywhere()
            }
            keyService.open()
            #expect(await login?.code == .notLoggedIn)
            #expect(vault.auth.session == nil && !vault.auth.isLoggedIn)
            #expect(await fixture.refreshes == [])
        }
    }

    @Test func `when the background timeout ends, then a pending login fails`() async throws {
        try await withFixture { fixture in
            try await fixture.register()
            let keyService = GatedKeyService(fixture.keyService)
            let vault = try await fixture.anotherVault(keyService: keyService)
            let (clock, monitor) = (ManualContinuousClock(), PlayedMonitor())
            let (handled, log) = AsyncStream<Void>.makeStream()
            await vault.auth.enableBackgroundTimeout(duration: .seconds(60), monitor: monitor, clock: clock) {
                log.yield()
            }
            async let login = failure {
                try await vault.auth.login(userID: "alice", password: SecretBytes(utf8: Fixture.password))
            }
            await keyService.waitForCalls(1)
            await monitor.tell(.entered)
            clock.advance(by: .seconds(60), wakesSleepers: false)
            await monitor.tell(.left)
            for await _ in handled.prefix(1) {}
            keyService.open()
            #expect(await login?.code == .notLoggedIn)
            #expect(vault.auth.session == nil)
            await vault.auth.disableBackgroundTimeout()
        }
    }

    @Test func `when a lock interrupts restoring, then no expiry is reported`() async throws {
        try await withFixture { fixture in
            try await fixture.register()
            let vault = try await fixture.anotherVault()
            await fixture.provider.setFault(.delayAnswer, times: 1)
            async let restored = failure {
                _ = try await vault.auth.restoreSession(
                    userID: "alice", password: SecretBytes(utf8: Fixture.password))
            }
            await fixture.provider.waitUntilDelayed()
            await vault.auth.lock()
            await fixture.provider.releaseDelayed()
            #expect(await restored?.code == .notLoggedIn)
            #expect(!vault.auth.isLoggedIn && vault.auth.session == nil)
        }
    }

    @Test func `when logins run at once, then no refresh token repeats`() async throws {
        let store = InMemoryStore()
        try await withFixture(store: store) { fixture in
            try await fixture.register()
            let keyService = GatedKeyService(fixture.keyService)
            let vault = try await fixture.anotherVault(keyService: keyService)
            keyService.open()
            try await vault.auth.login(userID: "alice", password: SecretBytes(utf8: Fixture.password))
            await fixture.provider.setFault(.delayAnswer, times: 1)
            async let lost = failure { _ = try await vault.auth.accessToken(forceRefresh: true) }
            await fixture.provider.waitUntilDelayed()
            store.writeFailure = StoreError(.unreadable, "The disk is full.")
            await fixture.provider.releaseDelayed()
            #expect(await lost?.code == .storeUnreadable)
            store.writeFailure = nil
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<8 {
                    group.addTask {
                        // Only the last session stays open.
                        _ = try? await vault.auth.login(userID: "alice", password: SecretBytes(utf8: Fixture.password))
                    }
                }
            }
            #expect(await fixture.refreshes.allSatisfy { $0.outcome == .ok })
            let generations = await fixture.refreshes.compactMap(\.presentedGeneration)
            #expect(generations == Array(1...generations.count), "each refresh token was used once")
        }
    }

    @Test func `when an unstored token exists, then logout everywhere revokes it`() async throws {
        let store = InMemoryStore()
        try await withFixture(store: store) { fixture in
            let session = try await fixture.register()
            await fixture.provider.setFault(.delayAnswer, times: 1)
            async let lost = failure { _ = try await session.accessToken(forceRefresh: true) }
            await fixture.provider.waitUntilDelayed()
            store.writeFailure = StoreError(.unreadable, "The disk is full.")
            await fixture.provider.releaseDelayed()
            #expect(await lost?.code == .storeUnreadable)
            store.writeFailure = nil
            #expect(try await fixture.vault.auth.logoutEverywhere() == nil)
            let revocation = try #require(await fixture.provider.requests.last)
            #expect(revocation.endpoint == .revocation)
            #expect(revocation.presentedGeneration == 2)
        }
    }

    @Test func `when a login is not stored, then revoking it works`() async throws {
        try await withFixture { fixture in
            let login = try await fixture.signIn()
            _ = try await fixture.vault.auth.accessToken(of: login, forceRefresh: true)
            #expect(await fixture.vault.auth.revoke(login) == nil)
            let revocation = try #require(await fixture.provider.requests.last)
            #expect(revocation.endpoint == .revocation)
            #expect(revocation.presentedGeneration == 2, "the newest")
        }
    }

    @Test func `when logout follows a lock, then access tokens are deleted`() async throws {
        try await withFixture { fixture in
            let session = try await fixture.register()
            await fixture.vault.auth.lock()
            #expect(try await fixture.store.item(.accessToken, of: session.id) != nil)
            try await fixture.vault.auth.logout()
            #expect(try await fixture.store.item(.accessToken, of: session.id) == nil)
            #expect(try await fixture.store.item(.refreshToken, of: session.id) != nil)
        }
    }
}
