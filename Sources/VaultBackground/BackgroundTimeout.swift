internal import VaultBase

/// A timeout that ends the session of a person who stays away from the app too long.
///
/// The time away is measured, so a process that was stopped or asleep notices it when it runs again. When the time is
/// up, the session is locked first. Then the handler is called, once for each stay in the background.
package final class BackgroundTimeout: Sendable {
    private struct Stay {
        let number: Int
        let isOver: @Sendable () -> Bool
        let counting: Task<Void, Never>
        var isTooLong = false
    }

    private struct State {
        var stay: Stay?
        var stays = 0
        var isDisabled = false
        /// The tasks, one for each monitor.
        var listening: [Task<Void, Never>] = []
        /// The monitors that report the person as away, and those that have ended.
        var away: Set<Int> = []
        var ended: Set<Int> = []
        /// The last lockout. When it is over, all earlier ones are over, too.
        var lockout: Task<Void, Never>?
    }

    /// The timeout whose lock or handler runs in the current task.
    @TaskLocal private static var current: BackgroundTimeout?

    private let state = Lock(State())
    private let monitors: [any BackgroundMonitor]
    private let duration: Duration
    private let clock: any Clock<Duration>
    private let isLoggedIn: @Sendable () async -> Bool
    private let lock: @Sendable () async -> Void
    private let handler: @Sendable () async -> Void

    /// Starts listening, until ``disable()`` is called or the value is dropped.
    ///
    /// - Parameters:
    ///   - duration: the allowed time away.
    ///   - monitors: report the begin and end of a stay. A stay begins with the first report, and ends with the last.
    ///   - clock: measures the stay. It must count during sleep.
    ///   - isLoggedIn: returns whether there is a session to end. Called when the time is up.
    ///   - lock: ends the session.
    ///   - handler: called after `lock`. It may call ``disable()``.
    package init(
        duration: Duration, monitors: [any BackgroundMonitor], clock: any Clock<Duration> = ContinuousClock(),
        isLoggedIn: @escaping @Sendable () async -> Bool, lock: @escaping @Sendable () async -> Void,
        handler: @escaping @Sendable () async -> Void
    ) {
        self.monitors = monitors
        self.duration = duration
        self.clock = clock
        self.isLoggedIn = isLoggedIn
        self.lock = lock
        self.handler = handler
        let listening = monitors.enumerated().map { index, monitor in
            let changes = monitor.changes()
            return Task { [weak self] in
                for await change in changes {
                    switch change {
                    case .entered: self?.enter(index)
                    case .left: self?.leave(index)
                    }
                }
                // A stay from this monitor continues. It ends when another monitor reports the person back.
                self?.state.withLock { state in
                    state.ended.insert(index)
                    state.away.remove(index)
                }
            }
        }
        state.withLock { $0.listening = listening }
    }

    /// Returns the present state of each monitor.
    package func status() async -> [MonitorStatus] {
        var all: [MonitorStatus] = []
        for (index, monitor) in monitors.enumerated() {
            let status = await monitor.status()
            let hasEnded = state.withLock { $0.ended.contains(index) }
            let problem = status.problem ?? MonitorStatus.Problem(.ended, "It ended.")
            all.append(hasEnded ? MonitorStatus(source: status.source, events: [], problem: problem) : status)
        }
        return all
    }

    deinit { cancel() }

    /// Stops listening and counting, and waits for a running handler. No further handler starts. A call from a handler
    /// does not wait, as two handlers could wait for each other for ever.
    package func disable() async {
        cancel()
        guard Self.current == nil else { return }
        await state.withLock { $0.lockout }?.value
    }

    private func cancel() {
        let ended = state.withLock { state in
            defer { state.stay = nil }
            state.isDisabled = true
            return state.listening + [state.stay?.counting].compactMap { $0 }
        }
        // A cancelled monitor or clock may call back, so the lock must not be held.
        for task in ended { task.cancel() }
    }

    // MARK: - A stay in the background

    private func enter(_ monitor: Int) {
        let (isOver, end) = Self.timer(clock, duration)
        state.withLock { state in
            state.away.insert(monitor)
            // A stay that has already locked does not count again, even if another monitor is still away.
            guard !state.isDisabled, state.stay?.isTooLong ?? true else { return }
            state.stays += 1
            let number = state.stays
            let counting = Task { [weak self] in
                while !isOver() {
                    do { try await end() } catch { return }
                }
                self?.timeIsUp(in: number)
            }
            state.stay = Stay(number: number, isOver: isOver, counting: counting)
        }
    }

    private func leave(_ monitor: Int) {
        let stay: Stay? = state.withLock { state in
            state.away.remove(monitor)
            guard state.away.isEmpty else { return nil }
            let stay = state.stay.take()
            if let stay, !stay.isTooLong, stay.isOver() { lockOut(&state) }
            return stay
        }
        stay?.counting.cancel()
    }

    private func timeIsUp(in number: Int) {
        state.withLock { state in
            guard state.stay?.number == number else { return }
            state.stay?.isTooLong = true
            lockOut(&state)
        }
    }

    private func lockOut(_ state: inout State) {
        let previous = state.lockout
        state.lockout = Task {
            await Self.$current.withValue(self) {
                let isDue = await isLoggedIn() && !isDisabled
                if isDue { await lock() }
                // Handlers run one at a time. A slow one does not delay the lock.
                await previous?.value
                if isDue, !isDisabled { await handler() }
            }
        }
    }

    private var isDisabled: Bool { state.withLock { $0.isDisabled } }

    /// Returns a check whether a time from now is over, and the wait for its end.
    private static func timer<C: Clock<Duration>>(
        _ clock: C, _ duration: Duration
    ) -> (isOver: @Sendable () -> Bool, end: @Sendable () async throws -> Void) {
        let end = clock.now.advanced(by: duration)
        return ({ clock.now >= end }, { try await clock.sleep(until: end, tolerance: nil) })
    }
}
