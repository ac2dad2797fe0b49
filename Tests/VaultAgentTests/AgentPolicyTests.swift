import Testing
import VaultAgentProtocol
import VaultAuth
import VaultCrypto
import VaultStorage
import VaultTesting
import VaultUnlock

@testable import VaultAgent

/// The machine's policy and the sessions that the agent holds already.
@Suite(.timeLimit(.minutes(1))) struct AgentPolicyTests {
    private static let unlimited = HoldingRules(idleSeconds: 0, lifetimeSeconds: 0, isExclusive: false)

    @Test func `when an idle limit arrives, then open sessions obey it`() async throws {
        let fixture = try AgentFixture()
        let id = try await fixture.held("alice", Self.unlimited)
        fixture.clock.advance(by: .seconds(59))
        try fixture.setPolicy(#"{"maximum-idle-minutes": 1}"#)
        _ = try await fixture.token(id)
        fixture.clock.advance(by: .seconds(60))
        #expect(await code { _ = try await fixture.token(id) } == .notLoggedIn)
    }

    @Test func `when a lifetime limit arrives, then it counts from login`() async throws {
        let fixture = try AgentFixture()
        let id = try await fixture.held("alice", Self.unlimited)
        fixture.clock.advance(by: .seconds(3599))
        try fixture.setPolicy(#"{"maximum-session-hours": 1}"#)
        _ = try await fixture.token(id)
        fixture.clock.advance(by: .seconds(1))
        // The quick path, too.
        let quick = AgentRequest.quickToken(user: "alice", minimumSeconds: 60)
        #expect(try await fixture.client.ask(quick) == .notAtHand)
    }

    @Test func `when the policy is removed, then the person's limits count`() async throws {
        let fixture = try AgentFixture()
        let id = try await fixture.held()
        try fixture.setPolicy(#"{"maximum-idle-minutes": 1}"#)
        _ = try await fixture.token(id)
        try fixture.setPolicy(nil)
        _ = try await fixture.token(id)
        fixture.clock.advance(by: .seconds(599), wakesSleepers: false)
        _ = try await fixture.token(id)
        fixture.clock.advance(by: .seconds(600), wakesSleepers: false)
        #expect(await code { _ = try await fixture.token(id) } == .notLoggedIn)
    }

    @Test(arguments: ["allowed-issuers", "allowed-key-services"])
    func `when the policy forbids a server, then its sessions lock`(rule: String) async throws {
        let fixture = try AgentFixture()
        let id = try await fixture.held()
        let app = fixture.app()
        try await app.attach(id)
        var updates = app.sessionUpdates(replaying: false).makeAsyncIterator()
        try fixture.setPolicy("{\"\(rule)\": [\"https://elsewhere.example\"]}")
        #expect(await code { _ = try await fixture.token(id) } == .forbiddenByPolicy)
        let key = [UInt8](repeating: 7, count: 32)
        #expect(await code { try await fixture.hold(id, vaultKey: key) } == .forbiddenByPolicy)
        var last = await updates.next()
        while let update = last, update.event != .locked { last = await updates.next() }
        #expect(last?.reason == .forbidden)
    }

    @Test func `when no request comes, then the policy check locks sessions`() async throws {
        let fixture = try AgentFixture()
        try await fixture.held("alice", Self.unlimited)
        fixture.clock.advance(by: .seconds(61))
        try fixture.setPolicy(#"{"maximum-idle-minutes": 1}"#)
        await fixture.sessions.obeyPolicy()
        #expect(fixture.sessions.all.isEmpty && fixture.sessions.locked.count == 1)
    }

    @Test func `when the policy is broken, then the agent refuses requests`() async throws {
        let fixture = try AgentFixture()
        let id = try await fixture.held()
        try fixture.setPolicy(#"{"minimum-pin": 6}"#)
        let account = AgentAccount(id)
        let requests: [AgentRequest] = [
            .token(account, AgentTokenWish()), .attach(account), .proofKey(account), .accountTable,
            .seal(account, item: "notes", [1]), .open(account, item: "notes", [1]),
            .setPIN(account, Array("284617".utf8), ticket: []), .check(account, kind: "password", [1]),
            .streamKey(account, item: "notes"),
        ]
        for request in requests {
            #expect(await code { _ = try await fixture.client.ask(request) } == .configurationInvalid, "\(request)")
        }
        let quick = AgentRequest.quickToken(user: "alice", minimumSeconds: 60)
        #expect(try await fixture.client.ask(quick) == .notAtHand)
        // What only closes or shows still works.
        guard case .status(let status) = try await fixture.client.ask(.status) else {
            throw AgentProtocolError.malformed
        }
        #expect(status.sessions.count == 1)
        _ = try await fixture.client.ask(.lock(account, isFinal: true))
        #expect(fixture.sessions.all.isEmpty)
    }

    @Test func `when the policy wants longer PINs, then short ones fail`() async throws {
        let fixture = try AgentFixture()
        let id = try await fixture.held()
        // The app has read no policy.
        let session = try await fixture.app().attach(id)
        try await session.reauthenticate(with: .password(SecretBytes(utf8: AgentFixture.password)))
        try fixture.setPolicy(#"{"minimum-pin-length": 8}"#)
        #expect(await code { try await session.setPIN(SecretBytes(utf8: "284617")) } == .forbiddenByPolicy)
        #expect(try await fixture.test.store.account(id)?.keyslot(.pin) == nil)
    }
}
