import Foundation
import Testing
import VaultAgentProtocol
import VaultAuth
import VaultCrypto
import VaultStorage
import VaultTesting
import VaultUnlock

@testable import VaultAgent

/// A renewed token that cannot be stored, as on a full disk. The agent has the only copy.
struct UnstoredTokenTests {
    /// An agent that renewed a token of alice and could not store it.
    private func bench() async throws -> (AgentBench, AccountID, vaultKey: [UInt8]) {
        let bench = try AgentBench()
        let id = try await bench.held()
        let key = try await bench.vaultKey(id)
        await bench.test.auth.lock(.requested)
        let store = bench.test.store
        bench.provider.whenRenewed { store.writeFailure = StoreError(.unreadable, "The disk is full.") }
        #expect(await code { _ = try await bench.token(id, Self.forced) } == .storeUnreadable)
        bench.provider.whenRenewed {}
        return (bench, id, key)
    }

    /// A wish for a token that nobody has asked for yet.
    private static let forced = AgentTokenWish(isForced: true, at: 4e9)

    @Test func `when a session locks, then its unstored token stays usable`() async throws {
        let (bench, id, key) = try await bench()
        await bench.sessions.lockAll(.idle)
        #expect(await code { try await bench.hold(id, vaultKey: key) } == nil)
        bench.test.store.writeFailure = nil
        _ = try await bench.token(id, Self.forced)
        // Without that token, the provider would have received the old token twice.
        #expect(bench.test.provider.hasLogin("alice"))
    }

    @Test func `when the account logs in again, then unstored tokens survive`() async throws {
        let (bench, id, key) = try await bench()
        try await bench.hold(id, vaultKey: key)
        bench.test.store.writeFailure = nil
        _ = try await bench.token(id, Self.forced)
        #expect(bench.test.provider.hasLogin("alice"))
    }

    @Test func `when a lock interrupts a renewal, then the token survives`() async throws {
        let bench = try AgentBench()
        let id = try await bench.held()
        let key = try await bench.vaultKey(id)
        await bench.test.auth.lock(.requested)
        let (store, sessions) = (bench.test.store, bench.sessions)
        bench.provider.whenRenewed {
            await sessions.lockAll(.backgroundTimeout)
            store.writeFailure = StoreError(.unreadable, "The disk is full.")
        }
        #expect(await code { _ = try await bench.token(id, Self.forced) } != nil)
        bench.provider.whenRenewed {}
        try await bench.hold(id, vaultKey: key)
        store.writeFailure = nil
        _ = try await bench.token(id, Self.forced)
        #expect(bench.test.provider.hasLogin("alice"))
    }

    @Test func `when a token is unstored, then stopping is refused`() async throws {
        let (bench, id, _) = try await bench()
        do {
            _ = try await bench.client.ask(.stop(isForced: false))
            Issue.record("The agent ended.")
        } catch let error as VaultError {
            #expect(error.code == .storeUnreadable)
            #expect(error.description.contains("alice") && error.detail == .tokenNotStored)
        }
        // The token is stored, and everything is locked.
        #expect(await code { _ = try await bench.token(id) } == .notLoggedIn)
        bench.test.store.writeFailure = nil
        #expect(try await bench.client.ask(.stop(isForced: false)) == .done)
        // The token was stored.
        _ = try await bench.test.auth.login(id, with: .password(SecretBytes(utf8: AgentBench.password)))
            .accessToken(forceRefresh: true)
    }

    @Test func `when a forced stop loses tokens, then the answer warns`() async throws {
        let (bench, id, _) = try await bench()
        guard case .text(let note) = try await bench.client.ask(.stop(isForced: true)) else {
            Issue.record("Nobody was told.")
            return
        }
        #expect(note.contains("alice") && note.contains("lost"))
        #expect(await code { _ = try await bench.token(id) } == .notLoggedIn)
    }
}
