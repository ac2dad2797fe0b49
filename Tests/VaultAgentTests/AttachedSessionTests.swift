import Foundation
import Testing
import VaultAgentProtocol
import VaultAuth
import VaultCrypto
import VaultStorage
import VaultTesting
import VaultUnlock

@testable import VaultAgent

/// The use of an agent's session by an app.
struct AttachedSessionTests {
    @Test func `when no agent holds a session, then attaching fails`() async throws {
        let fixture = try AgentFixture()
        let id = try await fixture.test.addAccount("alice", password: AgentFixture.password)
        #expect(await code { try await fixture.app().attach(id) } == .notLoggedIn)
        #expect(await code { try await fixture.test.auth.attach(id) } == .notLoggedIn)
    }

    // Row: programs of the same user
    @Test func `when an app attaches, then the session's calls work`() async throws {
        let fixture = try AgentFixture()
        let id = try await fixture.held()
        let app = fixture.app()
        let session = try await app.attach(userID: "alice")
        #expect(app.isLoggedIn)
        #expect(session.isOpen)
        let own = try await fixture.token(id).value
        #expect(try await app.accessToken().value == own)
        #expect(try await session.identity().claimsJSON.isEmpty == false)
        // The app's sealed data also opens after a login without the agent.
        let key = try await session.openVaultKey()
        #expect(key.bytes == nil)
        let sealed = try await key.seal([1, 2, 3], as: ItemName(rawValue: "notes"), of: id)
        let local = try await fixture.test.auth.login(id, with: .password(SecretBytes(utf8: AgentFixture.password)))
        let localKey = try await local.openVaultKey()
        #expect(try await localKey.open(sealed, as: ItemName(rawValue: "notes"), of: id) == [1, 2, 3])
        #expect(try await key.isEqual(to: localKey))
        #expect(try await localKey.isEqual(to: key))
        let other = try VaultKey.random()
        #expect(try await !key.isEqual(to: other))
    }

    @Test func `when an attached app stores metadata, then it shows`() async throws {
        let fixture = try AgentFixture()
        let id = try await fixture.held()
        let session = try await fixture.app().attach(id)
        try await session.setUnsealedMetadata("4", for: "desk.ward")
        #expect(try await fixture.test.storage.account(id).unsealedMetadata == ["desk.ward": "4"])
    }

    @Test func `when an attached app stops, then the agent's session stays`() async throws {
        let fixture = try AgentFixture()
        let id = try await fixture.held()
        let app = fixture.app()
        let session = try await app.attach(id)
        await app.lock(.programStops)
        #expect(!session.isOpen)
        #expect(try await fixture.app().attach(id).isOpen)
    }

    @Test func `when an attached app sets a PIN, then login works`() async throws {
        let fixture = try AgentFixture()
        let id = try await fixture.held()
        let session = try await fixture.app().attach(id)
        try await session.reauthenticate(with: .password(SecretBytes(utf8: AgentFixture.password)))
        try await session.setPIN(SecretBytes(utf8: "8264"))
        let opened = try await fixture.test.auth.login(id, with: .pin(SecretBytes(utf8: "8264")))
        #expect(opened.id == id)
    }

    @Test func `when a PIN is easy, then setting it is refused`() async throws {
        let fixture = try AgentFixture()
        let id = try await fixture.held()
        let session = try await fixture.app().attach(id)
        try await session.reauthenticate(with: .password(SecretBytes(utf8: AgentFixture.password)))
        do {
            try await session.setPIN(SecretBytes(utf8: "123"))
            Issue.record("The agent took an easy PIN.")
        } catch let error as VaultError {
            // The agent's refusal is a value here, too.
            #expect(error.code == .forbiddenByPolicy && error.objection?.code == .tooShort)
            #expect(error.objection?.secret == .pin && error.objection?.least == 4)
            #expect(error.objection?.description == error.description)
            #expect(error.policyObjection?.rule == .minimumPINLength && error.policyObjection?.number == 4)
        }
        #expect(await code { try await session.setPIN(SecretBytes(utf8: "1234")) } == .passwordUnusable)
        #expect(try await !fixture.test.storage.hasPIN(id))
        try await session.setPIN(SecretBytes(utf8: "1234"), skipsPINRule: true)
        #expect(try await fixture.test.storage.hasPIN(id))
    }

    // Row: programs of the same user
    @Test func `when a program proves no secret, then adding PINs fails`() async throws {
        let fixture = try AgentFixture()
        let id = try await fixture.held()
        let (first, second) = (try await fixture.app().attach(id), try await fixture.app().attach(id))
        func add(_ session: Session) async -> VaultError.Code? {
            await code { try await session.setPIN(SecretBytes(utf8: "8264")) }
        }
        #expect(await add(first) == .secretRequired)
        let wrong = await code {
            try await first.reauthenticate(with: .password(SecretBytes(utf8: "coffee at half past nine")))
        }
        #expect(wrong == .wrongSecret)
        #expect(await add(first) == .secretRequired)
        try await first.reauthenticate(with: .password(SecretBytes(utf8: AgentFixture.password)))
        // A program that the person gave no secret to must not profit from another one, whatever it sends.
        #expect(await add(second) == .secretRequired)
        for ticket in [[], Array(repeating: 0, count: 32)] as [[UInt8]] {
            let forged = await code {
                _ = try await fixture.client.ask(.setPIN(AgentAccount(id), Array("8264".utf8), ticket: ticket))
            }
            #expect(forged == .secretRequired)
        }
        fixture.clock.advance(by: .seconds(301))
        #expect(await add(first) == .secretRequired)
        #expect(try await fixture.test.storage.hasPIN(id) == false)
        try await first.reauthenticate(with: .password(SecretBytes(utf8: AgentFixture.password)))
        #expect(await add(first) == nil)
    }

    @Test func `when an app attaches, then the refresh token stays hidden`() async throws {
        let fixture = try AgentFixture()
        let session = try await fixture.app().attach(try await fixture.held())
        #expect(await code { _ = try await session.refreshToken() } == .configurationInvalid)
    }

    @Test func `when an app logs out everywhere, then tokens are revoked`() async throws {
        let fixture = try AgentFixture()
        let id = try await fixture.held()
        let app = fixture.app()
        try await app.attach(id)
        #expect(try await app.logoutEverywhere() == nil)
        #expect(!fixture.test.provider.hasLogin("alice") && !app.isLoggedIn)
        #expect(try await fixture.test.store.item(.refreshToken, of: id) == nil)
        #expect(await code { _ = try await fixture.token(id) } == .notLoggedIn)
    }

    @Test func `when an attached session logs out everywhere, then tokens are revoked`() async throws {
        let fixture = try AgentFixture()
        let id = try await fixture.held()
        let app = fixture.app()
        let session = try await app.attach(id)
        #expect(try await session.logoutEverywhere() == nil)
        #expect(!fixture.test.provider.hasLogin("alice") && !session.isOpen && !app.isLoggedIn)
        #expect(try await fixture.test.store.item(.refreshToken, of: id) == nil)
        #expect(await code { _ = try await fixture.token(id) } == .notLoggedIn)
    }

    @Test func `when an attached session is over, then it revokes nothing`() async throws {
        let fixture = try AgentFixture()
        let (alice, bob) = (try await fixture.held("alice"), try await fixture.held("bob"))
        let app = fixture.app()
        let session = try await app.attach(alice)
        try await app.attach(bob)
        #expect(await code { _ = try await session.logoutEverywhere() } == .notLoggedIn)
        #expect(fixture.test.provider.hasLogin("alice") && app.isLoggedIn)
        _ = try await fixture.token(alice)
    }

    @Test func `when programs force renewal at once, then one renewal happens`() async throws {
        let fixture = try AgentFixture()
        let id = try await fixture.held()
        // On their own clocks, both ask at the same moment. One request takes longer to arrive.
        let moment = ManualClock(fixture.test.clock.now)
        let (one, two) = (fixture.app(clock: moment), fixture.app(clock: moment))
        let (first, second) = (try await one.attach(id), try await two.attach(id))
        fixture.test.clock.advance(by: 1)
        let before = fixture.test.provider.renewals
        let value = try await first.accessToken(forceRefresh: true).value
        #expect(try await second.accessToken(forceRefresh: true).value == value)
        #expect(fixture.test.provider.renewals == before + 1)
        // A later request gets another token.
        moment.advance(by: 2)
        #expect(try await second.accessToken(forceRefresh: true).value != value)
        #expect(fixture.test.provider.renewals == before + 2)
    }

    @Test func `when one app locks, then the account locks for all`() async throws {
        let fixture = try AgentFixture()
        let id = try await fixture.held()
        let (first, second) = (fixture.app(), fixture.app())
        try await first.attach(id)
        try await second.attach(id)
        var updates = second.sessionUpdates(replaying: false).makeAsyncIterator()
        await first.lock(.requested)
        var last = await updates.next()
        while let update = last, update.event != .locked { last = await updates.next() }
        #expect(last?.account == id)
        #expect(!second.isLoggedIn)
        #expect(await code { _ = try await second.accessToken() } == .notLoggedIn)
        #expect(await code { _ = try await fixture.token(id) } == .notLoggedIn)
    }

    @Test func `when an app switches accounts, then the agent's session stays`() async throws {
        let fixture = try AgentFixture()
        let (alice, bob) = (try await fixture.held("alice"), try await fixture.held("bob"))
        let app = fixture.app()
        try await app.attach(alice)
        try await app.attach(bob)
        _ = try await fixture.token(alice)
        #expect(app.session?.id == bob)
    }

    @Test func `when the agent ends, then attached apps lock`() async throws {
        let fixture = try AgentFixture()
        let app = fixture.app()
        try await app.attach(try await fixture.held())
        var updates = app.sessionUpdates(replaying: false).makeAsyncIterator()
        fixture.server.stop()
        var last = await updates.next()
        while let update = last, update.event != .locked { last = await updates.next() }
        #expect(last?.reason == .agentEnded)
        #expect(!app.isLoggedIn)
    }

    @Test func `when a cancelled task locks, then the agent still locks`() async throws {
        let fixture = try AgentFixture()
        let id = try await fixture.held()
        let session = try await fixture.app().attach(id)
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            await session.lock()
        }
        await task.value
        #expect(await code { _ = try await fixture.token(id) } == .notLoggedIn)
    }

    @Test func `when attached apps add other unlock methods, then adding fails`() async throws {
        let fixture = try AgentFixture()
        let session = try await fixture.app().attach(try await fixture.held())
        #expect(
            await code { try await session.addRecoveryCode { _ in Issue.record("A code was shown.") } }
                == .configurationInvalid)
        #expect(
            await code { try await session.setPassword(SecretBytes(utf8: "eight otters juggle")) }
                == .configurationInvalid)
    }

    @Test func `when an attached app stores items, then reading returns them`() async throws {
        let fixture = try AgentFixture()
        let id = try await fixture.held()
        let session = try await fixture.app().attach(id)
        let large = (0..<200_000).map { UInt8(truncatingIfNeeded: $0 * 7) }
        try await session.items.set("small", to: [1, 2, 3])
        try await session.items.set("large", to: large)
        try await session.items.update("count", default: 0) { $0 += 1 }
        #expect(try await session.items.names().map(\.rawValue) == ["count", "large", "small"])
        let local = try await fixture.test.auth.login(id, with: .password(SecretBytes(utf8: AgentFixture.password)))
        #expect(try await local.items.get("small") == [1, 2, 3])
        #expect(try await local.items.get("large") == large)
        #expect(try await session.items.get("large") == large)
        #expect(try await local.items.get("count", as: Int.self) == 1)
    }
}

/// The agent's session of an account whose vault key another program replaces.
@Suite struct ReplacedVaultKeyTests {
    private let fixture: AgentFixture
    private let id: AccountID
    private let session: Session

    init() async throws {
        fixture = try AgentFixture()
        id = try await fixture.held()
        session = try await fixture.app().attach(id)
        try await session.items.set("note", to: [1])
        let owner = try await fixture.test.auth.login(id, with: method)
        _ = try await owner.replaceVaultKey(keeping: method)
    }

    private var method: UnlockMethod { get throws { try .password(SecretBytes(utf8: AgentFixture.password)) } }

    @Test(arguments: ["write", "read", "renewal"])
    func `when the vault key is replaced, then the session locks`(use: String) async throws {
        #expect(
            await code {
                switch use {
                case "write": try await session.items.set("note", to: [2])
                case "read": _ = try await session.items.get("note")
                default: _ = try await session.accessToken(forceRefresh: true)
                }
            } == .notLoggedIn)
        #expect(await code { _ = try await fixture.token(id) } == .notLoggedIn)
        #expect(await code { _ = try await fixture.app().attach(id) } == .notLoggedIn)
        let again = try await fixture.test.auth.login(id, with: method)
        #expect(try await again.items.get("note") == [1])
    }

    @Test func `when the agent holds a session, then key replacement fails`() async throws {
        try await fixture.hold(id)
        let attached = try await fixture.app().attach(id)
        #expect(await code { _ = try await attached.replaceVaultKey(keeping: method) } == .configurationInvalid)
    }
}
