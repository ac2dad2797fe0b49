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
    private func fixture() async throws -> (AgentFixture, AccountID, vaultKey: [UInt8]) {
        let fixture = try AgentFixture()
        let id = try await fixture.held()
        let key = try await fixture.vaultKey(id)
        await fixture.test.auth.lock(.requested)
        let store = fixture.test.store
        fixture.provider.whenRenewed { store.writeFailure = StoreError(.unreadable, "The disk is full.") }
        #expect(await code { _ = try await fixture.token(id, Self.forced) } == .storeUnreadable)
        fixture.provider.whenRenewed {}
        return (fixture, id, key)
    }

    /// A wish for a token that nobody has asked for yet.
    private static let forced = AgentTokenWish(isForced: true, at: 4e9)

    @Test func `when a session locks, then its unstored token stays usable`() async throws {
        let (fixture, id, key) = try await fixture()
        await fixture.sessions.lockAll(.idle)
        #expect(await code { try await fixture.hold(id, vaultKey: key) } == nil)
        fixture.test.store.writeFailure = nil
        _ = try await fixture.token(id, Self.forced)
        // Without that token, the provider would have received the old token twice.
        #expect(fixture.test.provider.hasLogin("alice"))
    }

    @Test func `when the account logs in again, then unstored tokens survive`() async throws {
        let (fixture, id, key) = try await fixture()
        try await fixture.hold(id, vaultKey: key)
        fixture.test.store.writeFailure = nil
        _ = try await fixture.token(id, Self.forced)
        #expect(fixture.test.provider.hasLogin("alice"))
    }

    @Test func `when a lock interrupts a renewal, then the token survives`() async throws {
        let fixture = try AgentFixture()
        let id = try await fixture.held()
        let key = try await fixture.vaultKey(id)
        await fixture.test.auth.lock(.requested)
        let (store, sessions) = (fixture.test.store, fixture.sessions)
        fixture.provider.whenRenewed {
            await sessions.lockAll(.backgroundTimeout)
            store.writeFailure = StoreError(.unreadable, "The disk is full.")
        }
        #expect(await code { _ = try await fixture.token(id, Self.forced) } != nil)
        fixture.provider.whenRenewed {}
        try await fixture.hold(id, vaultKey: key)
        store.writeFailure = nil
        _ = try await fixture.token(id, Self.forced)
        #expect(fixture.test.provider.hasLogin("alice"))
    }

    @Test func `when a token is unstored, then stopping is refused`() async throws {
        let (fixture, id, _) = try await fixture()
        do {
            _ = try await fixture.client.ask(.stop(isForced: false))
            Issue.record("The agent ended.")
        } catch let error as VaultError {
            #expect(error.code == .storeUnreadable)
            #expect(error.description.contains("alice") && error.detail == .tokenNotStored)
        }
        // The token is stored, and everything is locked.
        #expect(await code { _ = try await fixture.token(id) } == .notLoggedIn)
        fixture.test.store.writeFailure = nil
        #expect(try await fixture.client.ask(.stop(isForced: false)) == .done)
        // The token was stored.
        _ = try await fixture.test.auth.login(id, with: .password(SecretBytes(utf8: AgentFixture.password)))
            .accessToken(forceRefresh: true)
    }

    @Test func `when a forced stop loses tokens, then the answer warns`() async throws {
        let (fixture, id, _) = try await fixture()
        guard case .text(let note) = try await fixture.client.ask(.stop(isForced: true)) else {
            Issue.record("Nobody was told.")
            return
        }
        #expect(note.contains("alice") && note.contains("lost"))
        #expect(await code { _ = try await fixture.token(id) } == .notLoggedIn)
    }
}
