import Foundation
import Testing
import VaultAgentProtocol
import VaultAuth
import VaultBase
import VaultCrypto
import VaultStorage
import VaultTesting
import VaultUnlock

@testable import VaultAgent

/// A machine's policy that changes while the agent holds a session, and forbids how the session was opened.
@Suite(.timeLimit(.minutes(1))) struct AgentMethodsPolicyTests {
    private static let pin = "8264"
    private static let onlyPassword = #"{"allowed-unlock-methods": ["password"]}"#
    private static let unlimited = HoldingRules(idleSeconds: 0, lifetimeSeconds: 0, isExclusive: false)

    private static let offline = AgentContact(isOffline: true, isConfirmed: false, mayBeRevoked: true)

    private func pin() throws -> UnlockMethod { try .pin(SecretBytes(utf8: Self.pin)) }

    /// An account with a password and a PIN.
    private func account(_ fixture: AgentFixture) async throws -> AccountID {
        let id = try await fixture.test.addAccount("alice", password: AgentFixture.password, pin: Self.pin)
        fixture.test.clock.advance(by: 1)
        return id
    }

    @Test func `when a session's unlock method is forbidden, then it locks`() async throws {
        let fixture = try AgentFixture()
        let id = try await account(fixture)
        try await fixture.hold(id, vaultKey: fixture.vaultKey(id, with: pin()))
        let locks = try await fixture.lockEvents(of: id)
        _ = try await fixture.token(id)
        try fixture.setPolicy(Self.onlyPassword)
        let quick = AgentRequest.quickToken(user: "alice", minimumSeconds: 60)
        #expect(try await fixture.client.ask(quick) == .notAtHand)
        #expect(await code { _ = try await fixture.token(id) } == .notLoggedIn)
        for await lock in locks {
            #expect(lock.reason == .forbidden)
            break
        }
        // A login with an allowed unlock method stays open.
        fixture.test.clock.advance(by: 1)
        try await fixture.hold(id)
        _ = try await fixture.token(id)
    }

    @Test func `when another unlock method is forbidden, then the session stays`() async throws {
        let fixture = try AgentFixture()
        let id = try await account(fixture)
        try await fixture.hold(id)
        try fixture.setPolicy(Self.onlyPassword)
        _ = try await fixture.token(id)
    }

    @Test func `when the unlock method is unknown, then each possibility counts`() async throws {
        let fixture = try AgentFixture()
        // Both unlock methods were used in the same moment.
        let id = try await fixture.test.addAccount("alice", password: AgentFixture.password, pin: Self.pin)
        let key = try await fixture.vaultKey(id)
        try await fixture.hold(id, vaultKey: fixture.vaultKey(id, with: pin()))
        try fixture.setPolicy(Self.onlyPassword)
        #expect(await code { _ = try await fixture.token(id) } == .notLoggedIn)
        // Under this policy, only the password can have opened it.
        try await fixture.hold(id, vaultKey: key)
        _ = try await fixture.token(id)
    }

    @Test func `when the policy forbids PINs, then the agent checks none`() async throws {
        let fixture = try AgentFixture()
        let id = try await account(fixture)
        try await fixture.hold(id)
        let check = AgentRequest.check(AgentAccount(id), kind: "pin", Array(Self.pin.utf8))
        _ = try await fixture.client.ask(check)
        try fixture.setPolicy(Self.onlyPassword)
        #expect(await code { _ = try await fixture.client.ask(check) } == .forbiddenByPolicy)
    }

    @Test func `when the policy changes during consent, then no token comes`() async throws {
        let hook = Lock<@Sendable () throws -> Void>({})
        let fixture = try AgentFixture(
            consent: ProgramConsent(own: []) { _, _ in (try? hook.withLock(\.self)()) != nil })
        let id = try await account(fixture)
        try await fixture.hold(id, vaultKey: fixture.vaultKey(id, with: pin()))
        hook.withLock { $0 = { [weak fixture] in try fixture?.setPolicy(Self.onlyPassword) } }
        #expect(await code { _ = try await fixture.token(id) } == .notLoggedIn)
    }

    // MARK: - Without the network

    /// A session that was opened without the network, two days after the last contact.
    private func offline(
        _ fixture: AgentFixture, _ contact: AgentContact = offline
    ) async throws -> AccountID {
        let id = try await fixture.test.addAccount("alice", password: AgentFixture.password)
        let session = try await fixture.test.auth.login(id, with: .password(SecretBytes(utf8: AgentFixture.password)))
        try await session.addOffline(password: SecretBytes(utf8: AgentFixture.password))
        fixture.test.provider.answer(with: .outage)
        fixture.test.clock.advance(by: 2 * 86_400)
        let key = try await fixture.vaultKey(id, with: .offline(SecretBytes(utf8: AgentFixture.password)))
        try await fixture.hold(id, vaultKey: key, Self.unlimited, contact)
        return id
    }

    private func attach(_ fixture: AgentFixture, _ id: AccountID) async throws {
        _ = try await fixture.client.ask(.attach(AgentAccount(id)))
    }

    @Test func `when fewer offline days are allowed, then offline sessions lock`() async throws {
        let fixture = try AgentFixture()
        let id = try await offline(fixture)
        try fixture.setPolicy(#"{"maximum-offline-days": 3}"#)
        fixture.clock.advance(by: .seconds(86_399))
        try await attach(fixture, id)
        fixture.clock.advance(by: .seconds(1), wakesSleepers: false)
        #expect(await code { try await attach(fixture, id) } == .notLoggedIn)
    }

    @Test func `when offline use is forbidden, then an offline session locks`() async throws {
        let fixture = try AgentFixture()
        let id = try await offline(fixture)
        try await attach(fixture, id)
        try fixture.setPolicy(#"{"maximum-offline-days": 1}"#)
        #expect(await code { try await attach(fixture, id) } == .notLoggedIn)
        try fixture.setPolicy(nil)
        let key = try await fixture.vaultKey(id, with: .offline(SecretBytes(utf8: AgentFixture.password)))
        try await fixture.hold(id, vaultKey: key, Self.unlimited, Self.offline)
        try await attach(fixture, id)
        try fixture.setPolicy(Self.onlyPassword)
        #expect(await code { try await attach(fixture, id) } == .notLoggedIn)
    }

    /// A command that reads an item opens the account without the key service, and asks no provider.
    @Test func `when no server was asked, then the offline days count`() async throws {
        let fixture = try AgentFixture()
        let id = try await offline(fixture, AgentContact(isOffline: false, isConfirmed: false, mayBeRevoked: true))
        try await attach(fixture, id)
        try fixture.setPolicy(#"{"maximum-offline-days": 1}"#)
        #expect(await code { try await attach(fixture, id) } == .notLoggedIn)
    }

    @Test func `when no server was asked, then programs see that`() async throws {
        let fixture = try AgentFixture()
        let id = try await offline(fixture, AgentContact(isOffline: false, isConfirmed: false, mayBeRevoked: true))
        let app = fixture.app()
        #expect(try await !app.attach(id).isConfirmed)
    }

    @Test func `when the provider confirms, then the offline days stop counting`() async throws {
        let fixture = try AgentFixture()
        let id = try await offline(fixture)
        fixture.test.provider.answer(with: .tokens)
        _ = try await fixture.token(id, AgentTokenWish(isForced: true, at: 4e9))
        try fixture.setPolicy(#"{"maximum-offline-days": 1}"#)
        try await attach(fixture, id)
    }
}
