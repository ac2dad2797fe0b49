internal import VaultBase
internal import VaultStorage
internal import VaultUnlock

/// The policy's limits for a session of this process. Each use looks at the policy, so a change counts at once.
final class SessionLimits: Sendable {
    private struct State {
        var bounds: SessionBounds
        /// The tick of the last use that was within the limits.
        var usedInTick: Int?
        /// The task that waits for the end; nil while there is nothing to wait for.
        var waiting: Task<Void, Never>?
        /// Locks the session; nil before ``SessionLimits/begin(isOffline:_:)`` and after the end.
        var lock: (@Sendable (SessionUpdate.Reason) async -> Void)?
        var isOffline: @Sendable () -> Bool = { false }
    }

    private let state: Lock<State>
    private let policy: ObeyedPolicy
    private let clock: SteadyClock
    /// The app's own idle timeout; nil if none runs.
    private let idleTimeout: @Sendable () -> Duration?

    /// - Parameters:
    ///   - policy: the policies of the app and the machine.
    ///   - clock: measures the times.
    ///   - idleTimeout: returns the app's own idle timeout; nil if none runs.
    init(
        _ policy: ObeyedPolicy, _ opening: SessionOpening, clock: any Clock<Duration>,
        idleTimeout: @escaping @Sendable () -> Duration?
    ) {
        self.policy = policy
        self.clock = SteadyClock(clock)
        self.idleTimeout = idleTimeout
        var bounds = SessionBounds(opening, idle: nil, lifetime: nil, now: self.clock.now())
        let reading = policy.latest
        bounds.obey(reading.policy, number: reading.number)
        state = Lock(State(bounds: bounds))
    }

    /// A number that stays the same until the limits have to be looked at again, at most 10 milliseconds; nil if each
    /// use must look at them.
    var tick: Int? { clock.isOfMachine ? policy.tick : nil }

    /// Notes a use of the session, or an activity of the person.
    ///
    /// - Returns: false if the session is over. Then it must not be used, even if its lock is late.
    @discardableResult
    func use() -> Bool {
        // All uses in one tick of the kernel's clock count as one.
        let tick = tick
        if let tick, state.withLock({ $0.usedInTick == tick }) { return true }
        let now = clock.now()
        // Mostly nothing has changed and nothing is over.
        if use(now, underPolicy: policy.number, inTick: tick) { return true }
        let hasChanged = obey()
        if let reason = overdue(now, isUse: true) {
            lock(because: reason)
            return false
        }
        if hasChanged { wait() }
        return true
    }

    /// Calls `lock` when the session is over, unless ``end()`` is called before.
    ///
    /// - Parameter isOffline: returns whether the provider has not confirmed the account since it was opened.
    func begin(
        isOffline: @escaping @Sendable () -> Bool, _ lock: @escaping @Sendable (SessionUpdate.Reason) async -> Void
    ) {
        state.withLock { ($0.isOffline, $0.lock) = (isOffline, lock) }
        wait()
    }

    /// Stops waiting, because the session is over.
    func end() {
        let waiting = state.withLock { state in
            state.lock = nil
            return state.waiting.take()
        }
        waiting?.cancel()
    }

    /// Notes a use if the policy is still the same and no limit has been reached.
    ///
    /// - Returns: false if the limits need a closer look.
    private func use(_ now: Duration, underPolicy number: Int, inTick tick: Int?) -> Bool {
        state.withLock { state in
            guard state.bounds.number == number, state.bounds.times.offline == nil,
                state.bounds.overdue(now: now, isOffline: false) == nil
            else { return false }
            state.bounds.use(now: now)
            state.usedInTick = tick
            return true
        }
    }

    /// Takes over the policy that is in force now.
    ///
    /// - Returns: whether it has changed.
    private func obey() -> Bool {
        guard let number = state.withLock({ $0.bounds.number }), let reading = policy.change(since: number) else {
            return false
        }
        return state.withLock { $0.bounds.obey(reading.policy, number: reading.number) }
    }

    /// Returns the reason why the session must be locked now; nil if it may go on.
    ///
    /// - Parameter isUse: whether the session is used now, if it may go on.
    private func overdue(_ now: Duration, isUse: Bool = false) -> SessionUpdate.Reason? {
        let isOffline = state.withLock { $0.bounds.times.offline != nil } && self.isOffline()
        let reason = state.withLock { state in
            let reason = state.bounds.overdue(now: now, isOffline: isOffline)
            if reason == nil, isUse { state.bounds.use(now: now) }
            return reason
        }
        guard reason == .idle, let own = idleTimeout() else { return reason }
        return state.withLock { state in
            guard let limit = state.bounds.times.idle, own <= limit else { return reason }
            // The app's own timeout is at least as strict, locks the session, and calls the app's handler. So this
            // limit only starts again.
            state.bounds.use(now: now)
            return nil
        }
    }

    /// Whether the provider has not confirmed the account. Calls the closure outside the lock, because it may release
    /// the session, and that calls ``end()``.
    private func isOffline() -> Bool { state.withLock { $0.isOffline }() }

    /// Locks the session, once.
    private func lock(because reason: SessionUpdate.Reason) {
        guard let lock = state.withLock({ $0.lock.take() }) else { return }
        Task { await lock(reason) }
    }

    /// Waits until the present limits end the session. An earlier wait ends.
    private func wait() {
        let old = state.withLock { state in
            guard state.lock != nil else { return Task<Void, Never>?.none }
            defer { state.waiting = Task { [self] in await waitForEnd() } }
            return state.waiting
        }
        old?.cancel()
    }

    private func waitForEnd() async {
        while !Task.isCancelled {
            if let reason = overdue(clock.now()) { return lock(because: reason) }
            let isOffline = self.isOffline()
            guard let end = state.withLock({ $0.bounds.times.end(isOffline: isOffline) }),
                (try? await clock.sleep(end)) != nil
            else { return }
            _ = obey()
        }
    }
}

extension VaultPolicy {
    /// The longest time without use; nil for no limit.
    var longestIdleTime: Duration? { maximumIdleMinutes.map { .seconds($0 * 60) } }

    /// The longest time of a session in any case; nil for no limit.
    var longestSession: Duration? { maximumSessionHours.map { .seconds($0 * 3600) } }
}
