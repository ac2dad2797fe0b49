import VaultBackground
import VaultBase

@testable import VaultLogind

/// Writes down a monitor's changes.
final class Listener: Sendable {
    private struct State {
        var all: [BackgroundChange] = []
        /// The positions in `all` of the changes that ``heard()`` itself caused.
        var own: [Range<Int>] = []
    }

    private let state = Lock(State())
    private let task = Lock<Task<Void, Never>?>(nil)
    private let mock: MockLogind

    /// Follows the session c1, and returns when the monitor follows it.
    ///
    /// - Parameter delays: the number of listeners afterwards.
    convenience init(to mock: MockLogind, delays: Int = 1) async throws {
        self.init(LogindMonitor(session: "c1", busAddress: mock.address, pause: .milliseconds(10)), mock)
        try await mock.run("await_delays \(delays)")
    }

    init(_ monitor: LogindMonitor, _ mock: MockLogind) {
        self.mock = mock
        let changes = monitor.changes()
        let task = Task { [weak self] in
            for await change in changes { self?.state.withLock { $0.all.append(change) } }
        }
        self.task.withLock { $0 = task }
    }

    deinit { stop() }

    func stop() { task.withLock { $0?.cancel() } }

    /// The changes until now.
    ///
    /// For this, the machine goes to sleep twice. Each time, all earlier changes have arrived when the sleep is no
    /// longer held back. The second sleep tells whether the return from the first was noticed, which depends on the
    /// screen.
    func heard() async throws -> [BackgroundChange] {
        let first = try await sleep()
        let second = try await sleep()
        return state.withLock { state in
            let hasReturned = second.count > first.count + 1
            state.own.append(first.count - 1..<first.count + (hasReturned ? 3 : 1))
            let known = first.indices.filter { index in !state.own.contains { $0.contains(index) } }
            return known.map { first[$0] }
        }
    }

    private func sleep() async throws -> [BackgroundChange] {
        try await mock.run("sleep true")
        try await mock.run("await_delays 0")
        let all = state.withLock { $0.all }
        try await mock.run("sleep false")
        try await mock.run("await_delays 1")
        return all
    }
}
