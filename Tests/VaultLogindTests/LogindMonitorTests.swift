import Foundation
import Testing
import VaultBackground
import VaultTesting

@testable import VaultLogind

@Suite(.timeLimit(.minutes(2))) struct LogindMonitorTests {
    @Test func `locking and unlocking the session is noticed`() async throws {
        let mock = try await MockLogind.started()
        let listener = try await Listener(to: mock)
        try await mock.run("lock c1")
        try await mock.run("unlock c1")
        #expect(try await listener.heard() == [.entered, .left])
    }

    @Test func `what the desktop says of the screen is noticed`() async throws {
        let mock = try await MockLogind.started()
        let listener = try await Listener(to: mock)
        try await mock.run("lock c1")
        try await mock.run("hint_locked c1 true")
        try await mock.run("hint_idle c1")
        #expect(try await listener.heard() == [.entered])
        try await mock.run("hint_locked c1 false")
        try await mock.run("hint_idle c1")
        #expect(try await listener.heard() == [.entered, .left])
    }

    @Test func `sleep is noticed, and waking up behind a locked screen is not coming back`() async throws {
        let mock = try await MockLogind.started()
        let listener = try await Listener(to: mock)
        try await mock.run("sleep true")
        try await mock.run("sleep false")
        #expect(try await listener.heard() == [.entered, .left])
        try await mock.run("lock c1")
        try await mock.run("sleep true")
        try await mock.run("sleep false")
        #expect(try await listener.heard() == [.entered, .left, .entered])
        try await mock.run("unlock c1")
        #expect(try await listener.heard() == [.entered, .left, .entered, .left])
    }

    @Test func `another session's screen is its own business`() async throws {
        let mock = try await MockLogind.started()
        let listener = try await Listener(to: mock)
        try await mock.run("lock c2")
        try await mock.run("hint_locked c2 true")
        #expect(try await listener.heard() == [])
    }

    @Test func `only logind is believed`() async throws {
        let mock = try await MockLogind.started()
        let listener = try await Listener(to: mock)
        try await mock.run("impersonate c1 Lock")
        try await mock.run("lock c1")
        try await mock.run("impersonate c1 Unlock")
        #expect(try await listener.heard() == [.entered])
    }

    @Test func `a screen that is locked already counts from the start`() async throws {
        let mock = try await MockLogind.started()
        try await mock.run("hint_locked c1 true")
        let listener = try await Listener(to: mock)
        #expect(try await listener.heard() == [.entered])
    }

    @Test func `several listeners hear the same, and one may go`() async throws {
        let mock = try await MockLogind.started()
        let first = try await Listener(to: mock)
        let second = try await Listener(to: mock, delays: 2)
        try await mock.run("lock c1")
        second.stop()
        try await mock.run("await_delays 1")
        try await mock.run("unlock c1")
        #expect(try await first.heard() == [.entered, .left])
    }

    @Test func `sleep is held back until the listener knows of it`() async throws {
        let mock = try await MockLogind.started()
        let changes = LogindMonitor(session: "c1", busAddress: mock.address).changes()
        #expect(try await mock.run("await_delays 1") == "sleep:delay")
        var iterator = changes.makeAsyncIterator()
        try await mock.run("lock c1")
        try await mock.run("sleep true")
        #expect(await iterator.next() == .entered)
        try await mock.run("unlock c1")
        #expect(try await mock.run("await_delays 1") == "sleep:delay")
        try await mock.run("sleep false")
        #expect(await iterator.next() == .left)
        try await mock.run("await_delays 1")
    }

    @Test func `sleep is noticed where it cannot be held back`() async throws {
        let mock = try await MockLogind.started()
        try await mock.run("forbid_delays")
        let changes = LogindMonitor(session: "c1", busAddress: mock.address).changes()
        try await mock.run("hint_locked c1 true")
        var iterator = changes.makeAsyncIterator()
        #expect(await iterator.next() == .entered)
        try await mock.run("hint_locked c1 false")
        #expect(await iterator.next() == .left)
        try await mock.run("sleep true")
        #expect(await iterator.next() == .entered)
    }

    @Test func `it leaves the bus when nobody listens any more`() async throws {
        let mock = try await MockLogind.started()
        do {
            let changes = LogindMonitor(session: "c1", busAddress: mock.address).changes()
            try await mock.run("await_delays 1")
            withExtendedLifetime(changes) {}
        }
        try await mock.run("await_delays 0")
        let listener = try await Listener(to: mock)
        listener.stop()
        try await mock.run("await_delays 0")
    }

    @Test func `it finds logind again that was started anew`() async throws {
        let mock = try await MockLogind.started()
        let listener = try await Listener(to: mock)
        try await mock.run("lock c1")
        try await mock.run("stop_logind")
        try await mock.run("start_logind")
        try await mock.run("add_session c1")
        try await mock.run("await_delays 1")
        #expect(try await listener.heard() == [.entered, .left])
    }

    @Test func `it finds a bus again that went away, and one that was not there yet`() async throws {
        let mock = try MockLogind()
        let monitor = LogindMonitor(session: "c1", busAddress: mock.address, pause: .milliseconds(10))
        let listener = Listener(monitor, mock)
        for round in 1...2 {
            try await mock.run("start_bus")
            try await mock.run("start_logind")
            try await mock.run("add_session c1")
            try await mock.run("await_delays 1")
            try await mock.run("lock c1")
            try await mock.run("unlock c1")
            #expect(try await listener.heard() == Array(repeating: [.entered, .left], count: round).flatMap { $0 })
            try await mock.run("stop_bus")
        }
    }

    @Test(arguments: ["auto", "c7"])
    func `the process's own session is found`(_ name: String) async throws {
        let mock = try await MockLogind.started()
        if name != "auto" { try await mock.run("know_no_auto") }
        try await mock.run("add_session \(name)")
        let monitor = LogindMonitor(busAddress: mock.address)
        try await monitor.checkReachable()
        let listener = Listener(monitor, mock)
        try await mock.run("await_delays 1")
        try await mock.run("lock \(name)")
        #expect(try await listener.heard() == [.entered])
    }

    @Test func `when the user begins a second session, then its lock is noticed, too`() async throws {
        let mock = try await MockLogind.started()
        try await mock.run("know_no_session")
        let monitor = LogindMonitor(busAddress: mock.address)
        let listener = Listener(monitor, mock)
        try await mock.run("await_delays 1")
        #expect(await monitor.status().events == ["sleep"])
        try await mock.run("add_own_session c3")
        try await mock.run("lock c3")
        #expect(try await listener.heard() == [.entered])
        #expect(await monitor.status().events == ["screen lock", "sleep"])
        // The person works elsewhere while the screen of c3 stays locked.
        try await mock.run("add_own_session c4")
        try await mock.run("lock c4")
        try await mock.run("lock c1")
        #expect(try await listener.heard() == [.entered, .entered])
        try await mock.run("unlock c4")
        #expect(try await listener.heard() == [.entered, .entered, .left])
    }

    @Test func `a process without a session notices sleep`() async throws {
        let mock = try await MockLogind.started()
        try await mock.run("know_no_session")
        let monitor = LogindMonitor(busAddress: mock.address)
        let listener = Listener(monitor, mock)
        try await mock.run("await_delays 1")
        try await mock.run("sleep true")
        try await mock.run("sleep false")
        #expect(try await listener.heard() == [.entered, .left])
        #expect(await code(monitor) == .noSuchSession)
        #expect(await code(LogindMonitor(session: "c1", busAddress: mock.address)) == .noSuchSession)
    }

    @Test func `what is missing is told to who asks`() async throws {
        let mock = try MockLogind()
        let monitor = LogindMonitor(session: "c1", busAddress: mock.address)
        #expect(await code(monitor) == .busUnavailable)
        #expect(await code(LogindMonitor(busAddress: "nonsense")) == .busUnavailable)
        try await mock.run("start_bus")
        #expect(await code(monitor) == .logindUnavailable)
        try await mock.run("start_logind")
        #expect(await code(monitor) == nil)
    }

    @Test func `the status tells what the monitor listens to, or why it cannot`() async throws {
        let mock = try MockLogind()
        let monitor = LogindMonitor(session: "c1", busAddress: mock.address, pause: .milliseconds(10))
        #expect(
            await monitor.status().description == "logind: nothing (The message bus cannot be reached (error 2).)")
        let listener = Listener(monitor, mock)
        try await mock.run("start_bus")
        try await mock.run("start_logind")
        try await mock.run("add_session c1")
        try await mock.run("await_delays 1")
        #expect(await monitor.status().description == "logind: screen lock, sleep")
        try await mock.run("know_no_session")
        let status = await LogindMonitor(busAddress: mock.address).status()
        #expect(status.events == ["sleep"] && status.problem?.contains("no session") == true)
        // The session does not exist, so the monitor does not hear of sleep either.
        #expect(await !LogindMonitor(session: "c9", busAddress: mock.address).status().isListening)
        withExtendedLifetime(listener) {}
    }

    @Test func `whoever stays behind a locked screen for too long is locked out`() async throws {
        let mock = try await MockLogind.started()
        let clock = ManualContinuousClock()
        let (events, log) = AsyncStream.makeStream(of: String.self)
        let monitor = LogindMonitor(session: "c1", busAddress: mock.address)
        let timeout = BackgroundTimeout(
            duration: .seconds(60), monitors: [monitor], clock: clock, isLoggedIn: { true },
            lock: { log.yield("locked") }, handler: { log.yield("handled") })
        try await mock.run("await_delays 1")
        try await mock.run("sleep true")
        // Sleep is held back until the timeout knows of it, as on a real machine.
        try await mock.run("await_delays 0")
        clock.advance(by: .seconds(60), wakesSleepers: false)
        try await mock.run("sleep false")
        #expect(await events.prefix(2).reduce(into: []) { $0.append($1) } == ["locked", "handled"])
        await timeout.disable()
        try await mock.run("await_delays 0")
    }

    @Test func `when the bus accepts and never answers, then the monitor says so`() async throws {
        let bus = try SilentBus()
        let monitor = LogindMonitor(busAddress: bus.address, pause: .milliseconds(10), timeout: .milliseconds(50))
        #expect(await code(monitor) == .busUnavailable)
        #expect(await monitor.status().description == "logind: nothing (The message bus does not answer.)")
        // The listener finds out, too, and then tries again.
        let changes = monitor.changes()
        try await bus.untilConnected(times: 4)
        #expect(await monitor.status().problem == "The message bus does not answer.")
        withExtendedLifetime(changes) {}
    }

    @Test(arguments: ["libnothing.so.0", "libc.so.6"])
    func `when libsystemd or a function is missing, then the error says so`(_ name: String) {
        let error = #expect(throws: LogindError.self) { try LibSystemd(name) }
        #expect(error?.code == .libraryMissing)
        #expect(error?.description == "The library libsystemd.so.0 is missing.")
        #expect(LogindMonitor.hasLibrary)
    }

    private func code(_ monitor: LogindMonitor) async -> LogindError.Code? {
        do {
            try await monitor.checkReachable()
            return nil
        } catch {
            return (error as? LogindError)?.code
        }
    }
}
