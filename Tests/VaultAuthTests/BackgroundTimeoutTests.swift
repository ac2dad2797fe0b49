import CredentialVault
import Testing
import VaultAuth
import VaultBase
import VaultDevelopment
import VaultTesting

/// A timeout of 60 seconds unless a test says otherwise, and the events of its session.
private final class Scene: Sendable {
    let monitor = PlayedMonitor()
    let clock = ManualContinuousClock()
    let isLoggedIn = Lock(true)
    /// The events of the session, as they happen.
    let events: AsyncStream<String>
    private let log: AsyncStream<String>.Continuation
    private let timeout = Lock<BackgroundTimeout?>(nil)

    init(
        duration: Duration = .seconds(60), onHandler: @escaping @Sendable (BackgroundTimeout?) async -> Void = { _ in }
    ) {
        (events, log) = AsyncStream.makeStream()
        let timeout = BackgroundTimeout(
            duration: duration, monitors: [monitor], clock: clock,
            isLoggedIn: { [weak self] in self?.isLoggedIn.withLock { $0 } ?? false },
            lock: { [log] in log.yield("locked") },
            handler: { [log, weak self] in
                log.yield("handled")
                await onHandler(self?.timeout.withLock { $0 })
                log.yield("handler done")
            })
        self.timeout.withLock { $0 = timeout }
    }

    func disable() async { await timeout.withLock { $0 }?.disable() }

    func drop() { timeout.withLock { $0 = nil } }

    func note(_ event: String) { log.yield(event) }

    /// Disables the timeout, and returns the events that the test has not waited for.
    func rest() async -> [String] {
        await disable()
        log.finish()
        return await events.reduce(into: []) { $0.append($1) }
    }
}

/// A monitor that a test controls. A call that tells something returns when the listener has handled it.
final class PlayedMonitor: BackgroundMonitor {
    private let listener = Lock<BackgroundListener?>(nil)

    func changes() -> AsyncStream<BackgroundChange> {
        let (stream, listener) = BackgroundListener.make()
        self.listener.withLock { $0 = listener }
        return stream
    }

    var isHeard: Bool { listener.withLock { $0?.hasEnded == false } }

    func tell(_ change: BackgroundChange) async {
        await withCheckedContinuation { continuation in
            let listener = listener.withLock { $0 }
            listener?.tell(change)
            listener?.whenTaken { continuation.resume() }
        }
    }
}

/// Holds back all callers until it is opened.
private struct Barrier: Sendable {
    private let opened = AsyncStream<Void>.makeStream()

    func pass() async { for await _ in opened.stream {} }
    func open() { opened.continuation.finish() }
}

@Suite(.timeLimit(.minutes(1))) struct BackgroundTimeoutTests {
    private let once = ["locked", "handled", "handler done"]

    @Test func `when the timeout ends, then the lock precedes the handler`() async {
        let scene = Scene()
        await scene.monitor.tell(.entered)
        scene.clock.advance(by: .seconds(60))
        #expect(await scene.events.prefix(3).reduce(into: []) { $0.append($1) } == once)
        #expect(await scene.rest() == [])
    }

    @Test func `when the app returns early, then nothing is locked`() async {
        let scene = Scene()
        await scene.monitor.tell(.entered)
        scene.clock.advance(by: .seconds(59))
        await scene.monitor.tell(.left)
        scene.clock.advance(by: .seconds(1000))
        await scene.monitor.tell(.entered)
        scene.clock.advance(by: .seconds(59))
        await scene.monitor.tell(.left)
        #expect(await scene.rest() == [])
    }

    @Test func `when the background begins twice, then the count continues`() async {
        let scene = Scene()
        await scene.monitor.tell(.entered)
        scene.clock.advance(by: .seconds(30))
        await scene.monitor.tell(.entered)
        scene.clock.advance(by: .seconds(30))
        #expect(await scene.events.prefix(3).reduce(into: []) { $0.append($1) } == once)
    }

    @Test func `when the program sleeps past the timeout, then returning locks`() async {
        let scene = Scene()
        await scene.monitor.tell(.entered)
        scene.clock.advance(by: .seconds(60), wakesSleepers: false)
        await scene.monitor.tell(.left)
        #expect(await scene.events.prefix(3).reduce(into: []) { $0.append($1) } == once)
    }

    @Test func `when an app leaves repeatedly, then each absence locks once`() async {
        let scene = Scene()
        for _ in 1...3 {
            await scene.monitor.tell(.entered)
            scene.clock.advance(by: .seconds(60))
            #expect(await scene.events.prefix(3).reduce(into: []) { $0.append($1) } == once)
            scene.clock.advance(by: .seconds(60))
            await scene.monitor.tell(.entered)
            await scene.monitor.tell(.left)
            await scene.monitor.tell(.left)
        }
        #expect(await scene.rest() == [])
    }

    @Test func `when no time is allowed, then leaving locks at once`() async {
        let scene = Scene(duration: .zero)
        await scene.monitor.tell(.entered)
        #expect(await scene.events.prefix(3).reduce(into: []) { $0.append($1) } == once)
        // The monitor reports no return. A login of that time stays open until the monitor reports a departure again.
        scene.clock.advance(by: .seconds(1000))
        await scene.monitor.tell(.entered)
        #expect(await scene.events.prefix(3).reduce(into: []) { $0.append($1) } == once)
        #expect(await scene.rest() == [])
    }

    @Test func `when no account is logged in, then nothing happens`() async {
        let scene = Scene()
        scene.isLoggedIn.withLock { $0 = false }
        await scene.monitor.tell(.entered)
        scene.clock.advance(by: .seconds(60), wakesSleepers: false)
        await scene.monitor.tell(.left)
        #expect(await scene.rest() == [])
    }

    @Test func `when the timeout is disabled, then nothing is locked`() async {
        let scene = Scene()
        await scene.monitor.tell(.entered)
        await scene.disable()
        scene.clock.advance(by: .seconds(60))
        await scene.monitor.tell(.left)
        #expect(await scene.rest() == [])
        #expect(!scene.monitor.isHeard)
    }

    @Test func `when a handler runs, then disabling waits for it`() async {
        let barrier = Barrier()
        let scene = Scene { _ in await barrier.pass() }
        await scene.monitor.tell(.entered)
        scene.clock.advance(by: .seconds(60))
        #expect(await scene.events.first { $0 == "handled" } != nil)
        async let disabled: Void = {
            await scene.disable()
            scene.note("disabled")
        }()
        while scene.monitor.isHeard { await Task.yield() }
        barrier.open()
        await disabled
        #expect(await scene.rest() == ["handler done", "disabled"])
    }

    @Test func `when the handler disables the timeout, then listening stops`() async {
        let scene = Scene { await $0?.disable() }
        await scene.monitor.tell(.entered)
        scene.clock.advance(by: .seconds(60))
        #expect(await scene.events.prefix(3).reduce(into: []) { $0.append($1) } == once)
        #expect(!scene.monitor.isHeard)
    }

    @Test func `when a handler is slow, then locking does not wait`() async {
        let barrier = Barrier()
        let scene = Scene { _ in await barrier.pass() }
        for _ in 1...2 {
            await scene.monitor.tell(.entered)
            scene.clock.advance(by: .seconds(60), wakesSleepers: false)
            await scene.monitor.tell(.left)
            #expect(await scene.events.first { $0 == "locked" } != nil)
        }
        barrier.open()
        let rest = await scene.events.prefix(3).reduce(into: []) { $0.append($1) }
        #expect(rest.suffix(3) == ["handler done", "handled", "handler done"])
    }

    @Test func `when the timeout is dropped, then listening stops`() async {
        let scene = Scene()
        await scene.monitor.tell(.entered)
        scene.drop()
        scene.clock.advance(by: .seconds(60))
        #expect(!scene.monitor.isHeard)
        #expect(await scene.rest() == [])
    }
}

/// The timeout as an app enables it.
@Suite struct EnabledBackgroundTimeoutTests {
    @Test(arguments: [true, false])
    func `when an enabled timeout ends, then the login is locked`(isStored: Bool) async throws {
        try await withFixture { fixture in
            let auth = fixture.vault.auth
            let (monitor, clock) = (PlayedMonitor(), ManualContinuousClock())
            let (handled, handle) = AsyncStream.makeStream(of: Bool.self)
            await auth.enableBackgroundTimeout(duration: .seconds(60), monitor: monitor, clock: clock) {
                handle.yield(auth.isLoggedIn)
            }
            if isStored {
                try await fixture.register()
            } else {
                try await auth.setTokens(access: "access", refresh: "refresh", expiresIn: nil, subject: "alice")
            }
            let updates = auth.sessionUpdates
            // Time goes back, and nothing happens.
            await monitor.tell(.entered)
            clock.advance(by: .seconds(59), wakesSleepers: false)
            await monitor.tell(.left)
            #expect(auth.isLoggedIn)
            await monitor.tell(.entered)
            clock.advance(by: .seconds(61), wakesSleepers: false)
            await monitor.tell(.left)
            // The session was locked before the handler was called.
            #expect(await handled.first { _ in true } == false)
            let update = await updates.first { _ in true }
            #expect(update?.event == (isStored ? .locked : .loggedOut))
            #expect(update?.reason == .backgroundTimeout)
            await auth.disableBackgroundTimeout()
            #expect(!monitor.isHeard)
            if isStored { try await fixture.login() }
        }
    }
}
