import Foundation
import TestSupport
import Testing
import VaultAgentProtocol
import VaultAuth
import VaultCrypto
import VaultStorage
import VaultTesting
import VaultUnlock

@testable import VaultAgent

/// Sessions that the agent holds, seen by its clients.
struct AgentSessionTests {
    @Test func `when fifty clients ask for tokens, then one renewal suffices`() async throws {
        let fixture = try AgentFixture()
        let id = try await fixture.held()
        let before = fixture.test.provider.renewals
        let first = try await fixture.token(id, AgentTokenWish(isForced: true, at: 4e9))
        #expect(fixture.test.provider.renewals == before + 1)
        let values = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<50 { group.addTask { try await fixture.token(id).value } }
            return try await group.reduce(into: Set()) { $0.insert($1) }
        }
        #expect(values == [first.value])
        #expect(fixture.test.provider.renewals == before + 1)
    }

    /// A script that was made for the only account must not get the token of another account.
    @Test func `when there are two accounts, then quick tokens need names`() async throws {
        let fixture = try AgentFixture()
        let alice = try await fixture.held()
        let value = try await fixture.token(alice).value
        func quick(_ user: String) async throws -> String? {
            let answer = try await fixture.client.ask(.quickToken(user: user, minimumSeconds: 60))
            return if case .token(let token) = answer { token.value } else { nil }
        }
        #expect(try await quick("") == value)
        try await fixture.test.addAccount("bob", password: AgentFixture.password)
        #expect(try await quick("") == nil)
        #expect(try await quick("alice") == value)
    }

    @Test func `when the store changes, then names follow within a tick`() async throws {
        let (version, tick) = (Counter(), Counter())
        let fixture = try AgentFixture(version: { Int64(version.value) }, tick: { tick.value })
        let alice = try await fixture.held()
        _ = try await fixture.token(alice)
        func isAnswered() async throws -> Bool {
            let answer = try await fixture.client.ask(.quickToken(user: "", minimumSeconds: 60))
            return if case .token = answer { true } else { false }
        }
        #expect(try await isAnswered())
        #expect(try await isAnswered())
        try await fixture.test.addAccount("bob", password: AgentFixture.password)
        version.increment()
        // The kernel's clock has a tick each 4 or 10 milliseconds.
        #expect(try await isAnswered())
        tick.increment()
        #expect(try await !isAnswered())
    }

    @Test func `when a session is locked, then the agent refuses tokens`() async throws {
        let fixture = try AgentFixture()
        let id = try await fixture.held()
        _ = try await fixture.client.ask(.lock(AgentAccount(id), isFinal: false))
        #expect(await code { _ = try await fixture.token(id) } == .notLoggedIn)
        #expect(
            await code { _ = try await fixture.client.ask(.seal(AgentAccount(id), item: "notes", [1])) } == .notLoggedIn
        )
        guard case .status(let status) = try await fixture.client.ask(.status) else {
            throw AgentProtocolError.malformed
        }
        #expect(status.sessions.isEmpty)
        #expect(status.locked == [AgentAccount(id)])
    }

    @Test func `when a held account is renamed, then the status follows`() async throws {
        let fixture = try AgentFixture()
        let id = try await fixture.held()
        try await fixture.test.storage.setAlias("work", of: id)
        guard case .status(let status) = try await fixture.client.ask(.status) else {
            throw AgentProtocolError.malformed
        }
        #expect(status.sessions.map(\.name) == ["work"])
    }

    @Test func `when a vault key is wrong, then holding is refused`() async throws {
        let fixture = try AgentFixture()
        let id = try await fixture.test.addAccount("alice", password: AgentFixture.password)
        let wrong = [UInt8](repeating: 7, count: 32)
        #expect(await code { try await fixture.hold(id, vaultKey: wrong) } == .notLoggedIn)
        #expect(await code { _ = try await fixture.token(id) } == .notLoggedIn)
    }

    @Test func `when a client opens stored tokens, then the agent refuses`() async throws {
        let fixture = try AgentFixture()
        let id = try await fixture.held()
        let sealed = try #require(try await fixture.test.store.item(.refreshToken, of: id))
        for name in ["vault/refresh-token", "vault/access-token", "vault/id-token"] {
            let request = AgentRequest.open(AgentAccount(id), item: name, sealed)
            #expect(await code { _ = try await fixture.client.ask(request) } == .configurationInvalid)
        }
    }

    @Test func `when clients seal reserved names, then only device labels pass`() async throws {
        let fixture = try AgentFixture()
        let id = try await fixture.held()
        for name in ["vault/refresh-token", "vault/key-end/1", "vault/", "vault/device-label"] {
            let request = AgentRequest.seal(AgentAccount(id), item: name, [1])
            #expect(await code { _ = try await fixture.client.ask(request) } == .configurationInvalid, "\(name)")
        }
        let label = "vault/device-label/1/2"
        guard case .data(let sealed) = try await fixture.client.ask(.seal(AgentAccount(id), item: label, [1])) else {
            Issue.record("not sealed")
            return
        }
        let opened = try await fixture.client.ask(.open(AgentAccount(id), item: label, sealed))
        #expect(opened == .data([1]))
        // A label opens under its own name only.
        for name in ["vault/device-label/1/3", "vault/key-end/1", "notes"] {
            let request = AgentRequest.open(AgentAccount(id), item: name, sealed)
            #expect(await code { _ = try await fixture.client.ask(request) } == .storeCorrupt, "\(name)")
        }
    }

    @Test func `when a session is idle too long, then it locks`() async throws {
        let fixture = try AgentFixture()
        let id = try await fixture.held()
        // Time passes while the machine sleeps: the timer is late, and the next request comes first.
        fixture.clock.advance(by: .seconds(599), wakesSleepers: false)
        _ = try await fixture.token(id)
        fixture.clock.advance(by: .seconds(599), wakesSleepers: false)
        _ = try await fixture.token(id)
        fixture.clock.advance(by: .seconds(600), wakesSleepers: false)
        #expect(await code { _ = try await fixture.token(id) } == .notLoggedIn)
    }

    @Test func `when a session's lifetime ends, then it locks despite use`() async throws {
        let fixture = try AgentFixture()
        let id = try await fixture.held()
        for _ in 0..<7 {
            fixture.clock.advance(by: .seconds(500), wakesSleepers: false)
            _ = try await fixture.token(id)
        }
        fixture.clock.advance(by: .seconds(100), wakesSleepers: false)
        #expect(await code { _ = try await fixture.token(id) } == .notLoggedIn)
    }

    @Test func `when the limit passes without requests, then the timer locks`() async throws {
        let fixture = try AgentFixture()
        let id = try await fixture.held()
        let app = fixture.app()
        try await app.attach(id)
        var updates = app.sessionUpdates(replaying: false).makeAsyncIterator()
        await fixture.clock.waitForSleeper()
        fixture.clock.advance(by: .seconds(4000))
        var last = await updates.next()
        while let update = last, update.event != .locked { last = await updates.next() }
        #expect(last?.reason == .lifetime)
        #expect(!app.isLoggedIn)
    }

    @Test(arguments: [(0, 0, 300, 7200), (60, 9000, 60, 7200)] as [(UInt32, UInt32, Double, Double)])
    func `when the policy limits sessions, then longer limits shrink`(
        idle: UInt32, lifetime: UInt32, idleLeft: Double, lifetimeLeft: Double
    ) async throws {
        let fixture = try AgentFixture()
        try fixture.setPolicy(#"{"maximum-idle-minutes": 5, "maximum-session-hours": 2}"#)
        try await fixture.held(
            "alice", HoldingRules(idleSeconds: idle, lifetimeSeconds: lifetime, isExclusive: false))
        let holding = try #require(fixture.sessions.all.first?.holding)
        #expect(holding.idleLeft == idleLeft && holding.lifetimeLeft == lifetimeLeft)
    }

    @Test func `when an exclusive login comes, then other sessions lock`() async throws {
        let fixture = try AgentFixture()
        let alice = try await fixture.held("alice")
        let bob = try await fixture.held("bob")
        _ = try await (fixture.token(alice), fixture.token(bob))
        var rules = AgentFixture.rules
        rules.isExclusive = true
        try await fixture.hold(bob, rules)
        _ = try await fixture.token(bob)
        #expect(await code { _ = try await fixture.token(alice) } == .notLoggedIn)
    }

    /// The person types a secret and goes. The screen locks, and the command ends minutes later.
    @Test func `when a lock follows the secret, then no session opens`() async throws {
        let fixture = try AgentFixture()
        let id = try await fixture.held()
        let key = try await fixture.vaultKey(id)
        let bob = try await fixture.test.addAccount("bob", password: AgentFixture.password)
        let key2 = try await fixture.vaultKey(bob)
        let before = try await fixture.locks()
        try await fixture.hold(bob, vaultKey: key2, locks: before)
        #expect(try await fixture.locks() == before, "only a lock counts")
        _ = try await fixture.client.ask(.lock(AgentAccount(id), isFinal: false))
        let error = await #expect(throws: VaultError.self) {
            try await fixture.hold(id, vaultKey: key, locks: before)
        }
        #expect(error?.code == .notLoggedIn && error?.description.contains("locked") == true)
        #expect(await code { _ = try await fixture.token(id) } == .notLoggedIn)
        try await fixture.hold(id, vaultKey: key, locks: fixture.locks())
        _ = try await fixture.token(id)
        // Another agent knows nothing of the locks of this one.
        let other = try AgentFixture()
        #expect(try await other.locks() != fixture.locks())
    }

    /// A session that is given to the agent during a lock must not be open afterwards.
    @Test func `when a lock interrupts a login, then no session opens`() async throws {
        let fixture = try AgentFixture()
        let id = try await fixture.test.addAccount("alice", password: AgentFixture.password)
        let session = try await fixture.test.auth.login(id, with: .password(SecretBytes(utf8: AgentFixture.password)))
        let key = try await session.openVaultKey().bytes?.bytes.withUnsafeBytes { Array($0) } ?? []
        let sessions = fixture.sessions
        fixture.opening.set { await sessions.lockAll(.requested) }
        #expect(await code { try await fixture.hold(id, vaultKey: key) } == .notLoggedIn)
        #expect(sessions.all.isEmpty)
        fixture.opening.set {}
        try await fixture.hold(id, vaultKey: key)
        #expect(sessions.all.count == 1, "only the lock was in the way")
        _ = try await fixture.client.ask(.lock(nil, isFinal: false))
        // A lock at any moment of a login.
        for _ in 0..<200 {
            let locks = try await fixture.locks()
            async let holding = code { try await fixture.hold(id, vaultKey: key, locks: locks) }
            _ = try await fixture.client.ask(.lock(nil, isFinal: false))
            let wasRefused = await holding == .notLoggedIn
            guard case .status(let status) = try await fixture.client.ask(.status) else {
                Issue.record("no status")
                return
            }
            // Either the lock came before the login, or no session is open.
            if wasRefused { #expect(status.sessions.isEmpty) }
            _ = try await fixture.client.ask(.lock(nil, isFinal: false))
        }
    }
}
