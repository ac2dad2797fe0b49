#if Logind
    import VaultLocks
    import VaultBackground

    @testable import VaultLogind

    /// Writes down what a monitor tells.
    final class Listener: Sendable {
        private struct State {
            var all: [BackgroundChange] = []
            /// Where in `all` the changes are that ``heard()`` caused itself.
            var own: [Range<Int>] = []
        }

        private let state = Lock(State())
        private let task = Lock<Task<Void, Never>?>(nil)
        private let mock: MockLogind

        /// Follows the session c1, and returns when it is followed.
        ///
        /// - Parameter delays: how many listeners there are then.
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

        /// What was told until now.
        ///
        /// The machine goes to sleep for it, twice: each time everything from before has arrived when the sleep is no
        /// longer held back. The second time tells whether the first was noticed, which depends on the screen.
        func heard() async throws -> [BackgroundChange] {
            let first = try await sleep()
            let second = try await sleep()
            return state.withLock { state in
                if second.count > first.count { state.own.append(first.count - 1..<first.count + 3) }
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
#endif
