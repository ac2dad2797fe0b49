import CredentialVault
import Foundation
import TestSupport
import Testing
import VaultBase
import VaultDevelopment
import VaultTesting

/// A renewed token that could not be stored blocks the account for all other programs, so that no program sends the
/// spent token.
@Suite(.timeLimit(.minutes(1))) struct UnstoredTokenTests {
    /// A program on the fixture's folder, with a disk that can fill up, and another program.
    private struct Two {
        let fixture: Fixture
        let vault: Vault
        let other: Session
        let isFull: Switch

        init(_ fixture: Fixture, folder: String) async throws {
            self.fixture = fixture
            let isFull = Switch()
            self.isFull = isFull
            let store = WatchedStore(base: try SQLiteStore(folder: folder)) { changes in
                if isFull.isOn, changes.storesRefreshToken { throw StoreError(.busy, "The disk is full.") }
            }
            try await fixture.register()
            vault = try await fixture.anotherVault(store: store)
            try await vault.auth.unlock(userID: "alice", password: SecretBytes(utf8: Fixture.password))
            let second = try await fixture.anotherVault(
                store: SQLiteStore(folder: folder, clock: HastyClock()))
            other = try await second.auth.unlock(userID: "alice", password: SecretBytes(utf8: Fixture.password))
        }

        /// Makes the first program hold a token that it cannot store.
        func lose() async {
            isFull.set(true)
            let error = await failure { _ = try await vault.auth.accessToken(forceRefresh: true) }
            #expect(error?.code == .storeUnreadable)
        }

        var generations: [Int?] { get async { await fixture.refreshes.map(\.presentedGeneration) } }
    }

    @Test func `when a token is unstored, then another program gets busy`() async throws {
        try await withFixtureOnDisk { fixture, folder in
            let two = try await Two(fixture, folder: folder)
            await two.lose()
            for _ in 0..<2 {
                #expect(await failure { _ = try await two.other.accessToken(forceRefresh: true) }?.code == .busy)
            }
            // The program still holds the token. It tries again to store it, without the provider.
            #expect(
                await failure { _ = try await two.vault.auth.accessToken(forceRefresh: true) }?.code
                    == .storeUnreadable)
            #expect(await failure { _ = try await two.other.accessToken(forceRefresh: true) }?.code == .busy)
            #expect(await two.generations == [1])
            two.isFull.set(false)
            _ = try await two.vault.auth.accessToken(forceRefresh: true)
            _ = try await two.other.accessToken(forceRefresh: true)
            #expect(await two.generations == [1, 2, 3])
            #expect(await fixture.refreshes.allSatisfy { $0.outcome == .ok })
        }
    }

    @Test func `when disk space returns, then the held token is stored`() async throws {
        try await withFixtureOnDisk { fixture, folder in
            let two = try await Two(fixture, folder: folder)
            await two.lose()
            two.isFull.set(false)
            while await failure({ _ = try await two.other.accessToken(forceRefresh: true) })?.code == .busy {}
            #expect(await two.generations == [1, 2])
            #expect(await fixture.refreshes.allSatisfy { $0.outcome == .ok })
        }
    }

    @Test func `when an unstored token is held, then password changes work`() async throws {
        try await withFixtureOnDisk { fixture, folder in
            let two = try await Two(fixture, folder: folder)
            await two.lose()
            // Calls that need no token work, although the token still cannot be stored.
            try await two.vault.storage.changePassword(
                userID: "alice", from: SecretBytes(utf8: Fixture.password), to: SecretBytes(utf8: "another long one 7"))
            try await two.vault.auth.logout()
            #expect(await failure { _ = try await two.other.accessToken(forceRefresh: true) }?.code == .busy)
            #expect(
                await failure {
                    try await two.vault.auth.login(userID: "alice", password: SecretBytes(utf8: "another long one 7"))
                }?.code == .storeUnreadable)
            two.isFull.set(false)
            await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<4 {
                    group.addTask {
                        _ = try await two.vault.auth.unlock(
                            userID: "alice", password: SecretBytes(utf8: "another long one 7")
                        ).accessToken()
                    }
                    group.addTask { try await two.vault.auth.removeAccessToken(of: two.other.id) }
                }
                // A session that the next one replaces is locked.
                while let result = await group.nextResult() {
                    if case .failure(let error) = result {
                        #expect((error as? VaultError)?.code == .notLoggedIn)
                    }
                }
            }
            _ = try await two.other.accessToken(forceRefresh: true)
            #expect(await fixture.refreshes.allSatisfy { $0.outcome == .ok })
            let generations = await two.generations
            #expect(generations == Array(1...generations.count))
        }
    }

    @Test(arguments: ["clearTokens", "setTokens", "delete"])
    func `when a held token is replaced, then the wait ends`(how: String) async throws {
        try await withFixtureOnDisk { fixture, folder in
            let two = try await Two(fixture, folder: folder)
            let elsewhere = try await fixture.signIn()
            await two.lose()
            two.isFull.set(how == "setTokens" ? false : true)
            switch how {
            case "clearTokens": try await two.vault.auth.clearTokens()
            case "delete": try await two.vault.storage.clear(userID: "alice")
            default:
                try await two.vault.auth.setTokens(
                    access: #require(elsewhere.accessToken?.value), refresh: elsewhere.value)
            }
            let error = await failure { _ = try await two.other.accessToken(forceRefresh: true) }
            switch how {
            case "clearTokens": #expect(error?.code == .notLoggedIn)
            case "delete": #expect(error?.code == .accountNotFound)
            default: #expect(error == nil)
            }
            #expect(await fixture.refreshes.allSatisfy { $0.outcome == .ok })
        }
    }

    @Test func `when the token's program ends, then the account lock ends`() async throws {
        try await withFixture { fixture in
            let store = InMemoryStore()
            let isFull = Switch()
            let watched = WatchedStore(base: store) { changes in
                if isFull.isOn, changes.storesRefreshToken { throw StoreError(.unreadable, "The disk is full.") }
            }
            var vault: Vault? = try await fixture.anotherVault(store: watched)
            try await vault?.storage.storeRefreshToken(
                fixture.signIn(), withNewPassword: SecretBytes(utf8: Fixture.password))
            isFull.set(true)
            #expect(
                await failure { _ = try await vault?.auth.accessToken(forceRefresh: true) }?.code == .storeUnreadable)
            let id = try #require(try await store.accounts().first?.id)
            await #expect(throws: StoreError.self) { try await store.withLock(on: id) { _ in } }
            vault = nil
            try await store.withLock(on: id) { _ in }
        }
    }
}

/// A fault that a test turns on and off.
final class Switch: Sendable {
    private let state = Lock(false)
    var isOn: Bool { state.withLock { $0 } }
    func set(_ isOn: Bool) { state.withLock { $0 = isOn } }
}
