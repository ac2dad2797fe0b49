internal import VaultLocks

/// Ends the session of somebody who stays away from the app for too long.
///
/// The time away is measured, and not only waited for: a process that was stopped or asleep meanwhile finds out when it
/// runs again. Whoever is logged in when the time is up is locked out first, and then the handler is called, once for
/// each stay in the background.
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
        var listening: Task<Void, Never>?
        /// The last lockout, which is over when all are over.
        var lockout: Task<Void, Never>?
    }

    /// Whose lock or handler the current task runs in.
    @TaskLocal private static var current: BackgroundTimeout?

    private let state = Lock(State())
    private let duration: Duration
    private let clock: any Clock<Duration>
    private let isLoggedIn: @Sendable () async -> Bool
    private let lock: @Sendable () async -> Void
    private let handler: @Sendable () async -> Void

    /// Starts listening. It goes on until ``disable()`` is called or the value is dropped.
    ///
    /// - Parameters:
    ///   - duration: how long somebody may stay away.
    ///   - monitor: tells when the stay begins and ends.
    ///   - clock: measures it; has to go on while the machine is asleep.
    ///   - isLoggedIn: whether there is a session to end. Asked when the time is up.
    ///   - lock: ends the session.
    ///   - handler: called after that. It may call ``disable()``.
    package init(
        duration: Duration, monitor: any BackgroundMonitor, clock: any Clock<Duration> = ContinuousClock(),
        isLoggedIn: @escaping @Sendable () async -> Bool, lock: @escaping @Sendable () async -> Void,
        handler: @escaping @Sendable () async -> Void
    ) {
        self.duration = duration
        self.clock = clock
        self.isLoggedIn = isLoggedIn
        self.lock = lock
        self.handler = handler
        let changes = monitor.changes()
        let listening = Task { [weak self] in
            for await change in changes {
                switch change {
                case .entered: self?.enter()
                case .left: self?.leave()
                }
            }
        }
        state.withLock { $0.listening = listening }
    }

    deinit { cancel() }

    /// Stops listening and counting. No handler starts any more, and one that runs is waited for, unless this is called
    /// by a handler: two that wait for each other would wait for ever.
    package func disable() async {
        cancel()
        guard Self.current == nil else { return }
        await state.withLock { $0.lockout }?.value
    }

    private func cancel() {
        let ended = state.withLock { state in
            defer { state.stay = nil }
            state.isDisabled = true
            return [state.listening, state.stay?.counting]
        }
        // What this makes a monitor or a clock do may come back here, so not under the lock.
        for task in ended { task?.cancel() }
    }

    // MARK: - A stay in the background

    private func enter() {
        let (isOver, end) = Self.timer(clock, duration)
        state.withLock { state in
            guard !state.isDisabled, state.stay == nil else { return }
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

    private func leave() {
        let stay = state.withLock { state in
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

    /// Whether a time that begins now is over, and the wait for its end.
    private static func timer<C: Clock<Duration>>(
        _ clock: C, _ duration: Duration
    ) -> (isOver: @Sendable () -> Bool, end: @Sendable () async throws -> Void) {
        let end = clock.now.advanced(by: duration)
        return ({ clock.now >= end }, { try await clock.sleep(until: end, tolerance: nil) })
    }
}
