import CredentialVault
import Testing
import VaultAuth
import VaultTesting

/// A background timeout that listens to several monitors.
@Suite struct SeveralMonitorsTests {
    /// A monitor that cannot notice anything, and says so at once.
    private struct DeadMonitor: BackgroundMonitor {
        func changes() -> AsyncStream<BackgroundChange> { AsyncStream { $0.finish() } }
        func status() async -> MonitorStatus { MonitorStatus(source: "bus", events: [.sleep]) }
    }

    private let screen = PlayedMonitor()
    private let terminal = PlayedMonitor()
    private let clock = ManualContinuousClock()
    private let events: AsyncStream<String>
    private let log: AsyncStream<String>.Continuation

    init() { (events, log) = AsyncStream.makeStream(of: String.self) }

    private func timeout(_ monitors: [any BackgroundMonitor]) -> BackgroundTimeout {
        BackgroundTimeout(
            duration: .seconds(60), monitors: monitors, clock: clock, isLoggedIn: { true },
            lock: { [log] in log.yield("locked") }, handler: {})
    }

    @Test func `when two monitors report, then the first starts the timeout`() async {
        let timeout = timeout([screen, terminal])
        await screen.tell(.entered)
        clock.advance(by: .seconds(59), wakesSleepers: false)
        await terminal.tell(.entered)
        clock.advance(by: .seconds(1))
        #expect(await events.first { _ in true } == "locked")
        await timeout.disable()
        #expect(!screen.isHeard && !terminal.isHeard)
    }

    @Test func `when only one monitor reports return, then the timeout locks`() async {
        let timeout = timeout([screen, terminal])
        await screen.tell(.entered)
        await terminal.tell(.entered)
        clock.advance(by: .seconds(59), wakesSleepers: false)
        await terminal.tell(.left)
        clock.advance(by: .seconds(1))
        #expect(await events.first { _ in true } == "locked")
        await timeout.disable()
    }

    @Test func `when all monitors report return, then nothing locks`() async {
        let timeout = timeout([screen, terminal])
        await screen.tell(.entered)
        await terminal.tell(.entered)
        clock.advance(by: .seconds(59), wakesSleepers: false)
        await terminal.tell(.left)
        await screen.tell(.left)
        clock.advance(by: .seconds(60))
        await timeout.disable()
        log.finish()
        #expect(await events.reduce(into: []) { $0.append($1) } == [])
    }

    @Test func `when a monitor ends, then the status says so`() async throws {
        let test = TestVault()
        #expect(await test.auth.monitorStatus().isEmpty)
        await test.auth.enableBackgroundTimeout(
            duration: .seconds(60), monitors: [DeadMonitor(), StopSignalMonitor(), AppBackgroundMonitor()]
        ) {}
        await test.auth.enableIdleTimeout(.seconds(60))
        while await test.auth.monitorStatus().first?.isListening == true { await Task.yield() }
        let status = await test.auth.monitorStatus()
        #expect(status.map(\.events) == [[], [.stop], [.background], [.noActivity]])
        #expect(status.map(\.problem?.code) == [MonitorStatus.Problem.Code.ended, nil, nil, nil])
        let lines = status.map(\.description)
        #expect(lines == ["bus: nothing (It ended.)", "terminal: Ctrl-Z", "app: background", "app: no activity"])
        await test.auth.disableBackgroundTimeout()
        await test.auth.disableIdleTimeout()
        #expect(await test.auth.monitorStatus().isEmpty)
    }
}
