import HTTPTypes
import Testing
import VaultAuth
import VaultBase
import VaultCrypto
import VaultHTTP
import VaultStorage
import VaultTesting
import VaultUnlock

/// The policy's limits for the sessions of an app without an agent.
@Suite(.timeLimit(.minutes(1))) struct SessionLimitTests {
    private static let password = "tea at half past four"
    private let test = TestVault()
    private let clock = ManualContinuousClock()

    /// An app under a policy, with an open account.
    private func app(_ policy: VaultPolicy) async throws -> (auth: Auth, session: Session) {
        let id = try await test.addAccount("alice", password: Self.password)
        let accounts = Accounts(
            store: test.store, clock: test.clock, argon2: .insecureForTests, offlineCost: .insecureForTests,
            policy: policy, keyServiceURL: "https://keys.example", timer: clock,
            services: KeyServices(released: { [test] _ in test.keyService }))
        let auth = Auth(
            settings: nil,
            opener: SessionOpener(
                accounts: accounts, issuers: [test.provider],
                transport: FakeTransport { request, _ in
                    throw HTTPError(.notConnected, authority: request.authority ?? "")
                }), listening: NoRedirects())
        return (auth, try await auth.login(id, with: .password(SecretBytes(utf8: Self.password))))
    }

    /// The reason of the next lock.
    private func lock(_ auth: Auth, _ move: () -> Void) async -> SessionUpdate.Reason? {
        var updates = auth.sessionUpdates(replaying: false).makeAsyncIterator()
        await clock.waitForSleeper()
        move()
        var last = await updates.next()
        while let update = last, update.event != .locked { last = await updates.next() }
        return last?.reason
    }

    @Test func `when an app sets no timeout, then the policy's counts`() async throws {
        let (auth, session) = try await app(VaultPolicy(maximumIdleMinutes: 1))
        #expect(await lock(auth) { clock.advance(by: .seconds(60)) } == .idle)
        #expect(!auth.isLoggedIn && !session.isOpen)
    }

    @Test func `when an app's timeout is longer, then the policy's counts`() async throws {
        let (auth, _) = try await app(VaultPolicy(maximumIdleMinutes: 1))
        let (handled, note) = AsyncStream<Void>.makeStream()
        let appClock = ManualContinuousClock()
        await auth.enableIdleTimeout(.seconds(3600), clock: appClock) { note.yield() }
        await appClock.waitForSleeper()
        appClock.advance(by: .seconds(60))
        for await _ in handled { break }
        #expect(!auth.isLoggedIn)
    }

    @Test func `when an app ends its timeout, then the policy's counts`() async throws {
        let (auth, _) = try await app(VaultPolicy(maximumIdleMinutes: 1))
        await auth.enableIdleTimeout(.seconds(30), clock: clock) {}
        await auth.disableIdleTimeout()
        #expect(await lock(auth) { clock.advance(by: .seconds(60)) } == .idle)
    }

    @Test func `when a session is used, then its idle time restarts`() async throws {
        let (auth, session) = try await app(VaultPolicy(maximumIdleMinutes: 1))
        for use in [
            { _ = try await session.accessToken() }, { _ = try await session.openVaultKey() },
            { auth.noteActivity() }, { _ = try await session.items.names() },
        ] as [() async throws -> Void] {
            clock.advance(by: .seconds(59), wakesSleepers: false)
            try await use()
        }
        #expect(auth.isLoggedIn)
        // The timer is late, for example after sleep: the session must not be used before.
        clock.advance(by: .seconds(60), wakesSleepers: false)
        #expect(await failure { _ = try await session.accessToken() }?.code == .notLoggedIn)
        #expect(await failure { _ = try await session.openVaultKey() }?.code == .notLoggedIn)
    }

    @Test func `when a refused session is asked for tokens, then its idle time goes on`() async throws {
        let (_, session) = try await app(VaultPolicy(maximumIdleMinutes: 1))
        test.provider.answer(with: .refusal)
        #expect(await failure { _ = try await session.accessToken(forceRefresh: true) }?.code == .refreshTokenExpired)
        _ = try await session.openVaultKey()
        clock.advance(by: .seconds(59), wakesSleepers: false)
        #expect(await failure { _ = try await session.accessToken() }?.code == .refreshTokenExpired)
        clock.advance(by: .seconds(1), wakesSleepers: false)
        #expect(await failure { _ = try await session.openVaultKey() }?.code == .refreshTokenExpired)
    }

    @Test func `when a session is used, then its lifetime still ends`() async throws {
        let (auth, session) = try await app(VaultPolicy(maximumSessionHours: 1))
        for _ in 0..<59 {
            clock.advance(by: .seconds(60), wakesSleepers: false)
            _ = try await session.accessToken()
        }
        #expect(await lock(auth) { clock.advance(by: .seconds(60)) } == .lifetime)
        #expect(!auth.isLoggedIn)
    }

    @Test func `when a person logs in again, then the times restart`() async throws {
        let (auth, first) = try await app(VaultPolicy(maximumSessionHours: 1))
        clock.advance(by: .seconds(3000), wakesSleepers: false)
        let second = try await auth.login(first.id, with: .password(SecretBytes(utf8: Self.password)))
        clock.advance(by: .seconds(3000))
        #expect(second.isOpen && auth.session === second)
        _ = try await second.accessToken()
    }

    @Test func `when the agent holds a session, then it stays open`() async throws {
        let (auth, session) = try await app(VaultPolicy(maximumIdleMinutes: 1))
        let key = try await session.openVaultKey()
        let held = try await auth.adopt(session.id, vaultKey: key, contact: .confirmed)
        clock.advance(by: .seconds(4000))
        _ = try await held.accessToken()
        #expect(held.isOpen)
    }
}
