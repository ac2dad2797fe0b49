import Foundation
import TestSupport
import Testing
import VaultBackground
import VaultDBus
import VaultTesting

@testable import VaultLogind

@Suite(.timeLimit(.minutes(2))) struct LogindMonitorTests {
    @Test func `when the session locks and unlocks, then listeners notice both`() async throws {
        let mock = try await MockLogind.started()
        let listener = try await Listener(to: mock)
        try await mock.run("lock c1")
        try await mock.run("unlock c1")
        #expect(try await listener.heard() == [.entered, .left])
    }

    @Test func `when the desktop's lock hint changes, then listeners notice it`() async throws {
        let mock = try await MockLogind.started()
        let listener = try await Listener(to: mock)
        try await mock.run("lock c1")
        try await mock.run("hint_locked c1 true")
        try await mock.run("hint_idle c1")
        // The signal and the hint.
        #expect(try await listener.heard() == [.entered, .entered])
        try await mock.run("hint_locked c1 false")
        try await mock.run("hint_idle c1")
        #expect(try await listener.heard() == [.entered, .entered, .left])
    }

    @Test func `when a locked machine wakes, then no return is heard`() async throws {
        let mock = try await MockLogind.started()
        let listener = try await Listener(to: mock)
        try await mock.run("sleep true")
        try await mock.run("sleep false")
        #expect(try await listener.heard() == [.entered, .left])
        try await mock.run("lock c1")
        try await mock.run("sleep true")
        try await mock.run("sleep false")
        #expect(try await listener.heard() == [.entered, .left, .entered, .entered])
        try await mock.run("unlock c1")
        #expect(try await listener.heard() == [.entered, .left, .entered, .entered, .left])
    }

    @Test func `when a locked screen locks again, then listeners notice it`() async throws {
        let mock = try await MockLogind.started()
        let listener = try await Listener(to: mock)
        // The desktop does not report that the person unlocks the screen in between.
        try await mock.run("lock c1")
        try await mock.run("lock c1")
        #expect(try await listener.heard() == [.entered, .entered])
    }

    @Test func `when another session locks, then listeners notice nothing`() async throws {
        let mock = try await MockLogind.started()
        let listener = try await Listener(to: mock)
        try await mock.run("lock c2")
        try await mock.run("hint_locked c2 true")
        #expect(try await listener.heard() == [])
    }

    @Test func `when another process imitates logind, then the monitor ignores it`() async throws {
        let mock = try await MockLogind.started()
        let listener = try await Listener(to: mock)
        try await mock.run("impersonate c1 Lock")
        try await mock.run("lock c1")
        try await mock.run("impersonate c1 Unlock")
        #expect(try await listener.heard() == [.entered])
    }

    @Test func `when a screen is already locked, then listeners notice it`() async throws {
        let mock = try await MockLogind.started()
        try await mock.run("hint_locked c1 true")
        let listener = try await Listener(to: mock)
        #expect(try await listener.heard() == [.entered])
    }

    @Test func `when one listener stops, then the other still notices changes`() async throws {
        let mock = try await MockLogind.started()
        let first = try await Listener(to: mock)
        let second = try await Listener(to: mock, delays: 2)
        try await mock.run("lock c1")
        second.stop()
        try await mock.run("await_delays 1")
        try await mock.run("unlock c1")
        #expect(try await first.heard() == [.entered, .left])
    }

    @Test func `when sleep comes, then it waits for the listener`() async throws {
        let mock = try await MockLogind.started()
        let changes = LogindMonitor(session: "c1", busAddress: mock.address).changes()
        #expect(try await mock.run("await_delays 1") == "sleep:delay")
        var iterator = changes.makeAsyncIterator()
        try await mock.run("lock c1")
        try await mock.run("sleep true")
        #expect(await iterator.next() == .entered)
        #expect(await iterator.next() == .entered)
        try await mock.run("unlock c1")
        #expect(try await mock.run("await_delays 1") == "sleep:delay")
        try await mock.run("sleep false")
        #expect(await iterator.next() == .left)
        try await mock.run("await_delays 1")
    }

    @Test func `when sleep cannot be delayed, then listeners still notice it`() async throws {
        let mock = try await MockLogind.started()
        try await mock.run("forbid_delays")
        // The monitor listens when it reports this lock. A change while it begins to listen could be reported twice.
        try await mock.run("hint_locked c1 true")
        let changes = LogindMonitor(session: "c1", busAddress: mock.address).changes()
        var iterator = changes.makeAsyncIterator()
        #expect(await iterator.next() == .entered)
        try await mock.run("hint_locked c1 false")
        #expect(await iterator.next() == .left)
        try await mock.run("sleep true")
        #expect(await iterator.next() == .entered)
    }

    @Test func `when no listener remains, then the monitor leaves the bus`() async throws {
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

    @Test func `when logind restarts, then the monitor finds it again`() async throws {
        let mock = try await MockLogind.started()
        let listener = try await Listener(to: mock)
        try await mock.run("lock c1")
        try await mock.run("stop_logind")
        try await mock.run("start_logind")
        try await mock.run("add_session c1")
        try await mock.run("await_delays 1")
        #expect(try await listener.heard() == [.entered, .left])
    }

    @Test func `when the bus restarts, then the monitor finds it again`() async throws {
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
    func `when no session is named, then the process's own counts`(_ name: String) async throws {
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

    @Test func `when a second session begins, then its lock is noticed`() async throws {
        let mock = try await MockLogind.started()
        try await mock.run("know_no_session")
        let monitor = LogindMonitor(busAddress: mock.address)
        let listener = Listener(monitor, mock)
        try await mock.run("await_delays 1")
        #expect(await monitor.status().events == [.sleep])
        try await mock.run("add_own_session c3")
        try await mock.run("lock c3")
        #expect(try await listener.heard() == [.entered])
        #expect(await monitor.status().events == [.screenLock, .sleep])
        // The person works elsewhere while the screen of c3 stays locked.
        try await mock.run("add_own_session c4")
        try await mock.run("lock c4")
        try await mock.run("lock c1")
        #expect(try await listener.heard() == [.entered, .entered])
        try await mock.run("unlock c4")
        #expect(try await listener.heard() == [.entered, .entered, .left])
    }

    @Test func `when a process has no session, then sleep is noticed`() async throws {
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

    @Test func `when the bus or logind is missing, then checking fails`() async throws {
        let mock = try MockLogind()
        let monitor = LogindMonitor(session: "c1", busAddress: mock.address)
        #expect(await code(monitor) == .busUnavailable)
        #expect(await code(LogindMonitor(busAddress: "nonsense")) == .busUnavailable)
        try await mock.run("start_bus")
        #expect(await code(monitor) == .logindUnavailable)
        try await mock.run("start_logind")
        #expect(await code(monitor) == nil)
    }

    @Test func `when the monitor cannot listen, then its status explains why`() async throws {
        let mock = try MockLogind()
        let monitor = LogindMonitor(session: "c1", busAddress: mock.address, pause: .milliseconds(10))
        let silent = await monitor.status()
        #expect(silent.description == "logind: nothing (The message bus cannot be reached (error 2).)")
        #expect(silent.problem?.code == .busUnavailable)
        let listener = Listener(monitor, mock)
        try await mock.run("start_bus")
        try await mock.run("start_logind")
        try await mock.run("add_session c1")
        try await mock.run("await_delays 1")
        #expect(await monitor.status().description == "logind: screen lock, sleep")
        try await mock.run("know_no_session")
        let status = await LogindMonitor(busAddress: mock.address).status()
        #expect(status.events == [.sleep] && status.problem?.code == .noSession)
        // The session does not exist, so the monitor does not hear of sleep either.
        let unknown = await LogindMonitor(session: "c9", busAddress: mock.address).status()
        #expect(!unknown.isListening && unknown.problem?.code == .noSuchSession)
        withExtendedLifetime(listener) {}
    }

    @Test(arguments: ["sleep", "screen lock"])
    func `when an absence outlasts the timeout, then the session locks`(_ absence: String) async throws {
        let mock = try await MockLogind.started()
        let clock = ManualContinuousClock()
        let (events, log) = AsyncStream.makeStream(of: String.self)
        let monitor = LogindMonitor(session: "c1", busAddress: mock.address)
        let timeout = BackgroundTimeout(
            duration: .seconds(60), monitors: [monitor], clock: clock, isLoggedIn: { true },
            lock: { log.yield("locked") }, handler: { log.yield("handled") })
        try await mock.run("await_delays 1")
        if absence == "sleep" {
            try await mock.run("sleep true")
            // Sleep is held back until the timeout knows of it, as on a real machine.
            try await mock.run("await_delays 0")
            clock.advance(by: .seconds(60), wakesSleepers: false)
            try await mock.run("sleep false")
        } else {
            try await mock.run("lock c1")
            await clock.waitForSleeper()
            clock.advance(by: .seconds(60))
        }
        #expect(await events.prefix(2).reduce(into: []) { $0.append($1) } == ["locked", "handled"])
        await timeout.disable()
        try await mock.run("await_delays 0")
    }

    @Test func `when the bus never answers, then the monitor says so`() async throws {
        let bus = try SilentBus()
        let monitor = LogindMonitor(busAddress: bus.address, pause: .milliseconds(10), timeout: .milliseconds(50))
        #expect(await code(monitor) == .busUnavailable)
        #expect(await monitor.status().description == "logind: nothing (The message bus does not answer.)")
        // The listener finds out, too, and then tries again.
        let changes = monitor.changes()
        try await bus.untilConnected(times: 4)
        #expect(await monitor.status().problem?.code == .busUnavailable)
        withExtendedLifetime(changes) {}
    }

    @Test(arguments: ["libnothing.so.0", "libc.so.6"])
    func `when libsystemd is missing or incomplete, then loading fails`(_ name: String) {
        let error = #expect(throws: BusError.self) { try LibSystemd(name) }
        #expect(error?.number == BusError.libraryMissing.number)
        #expect(LogindError(.libraryMissing).description == "The library libsystemd.so.0 is missing.")
        #expect(LogindMonitor.hasLibrary)
    }

    private func code(_ monitor: LogindMonitor) async -> LogindError.Code? {
        await thrown(\LogindError.code) { try await monitor.checkReachable() }
    }
}
