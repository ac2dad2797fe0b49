internal import Dispatch
internal import Logging
internal import VaultBase

/// The answer to `/readyz`. Each check writes to the store, so all requests of a second share one check.
///
/// A check that hangs holds nobody up. So the timer does not use the threads of Swift's tasks, which may hang as well.
final class Readiness: Sendable {
    private struct State {
        var last: (time: ContinuousClock.Instant, isReady: Bool)?
        var isRunning = false
        /// Whether the running check has not ended in time. Nobody waits for it any more.
        var isLate = false
        /// The number of checks so far, for the timers.
        var checks = 0
        var waiting: [CheckedContinuation<Bool, Never>] = []
    }

    private static let validity = Duration.seconds(1)

    private let timeout: DispatchTimeInterval
    private let check: @Sendable () async throws -> Void
    private let control: KeyServiceControl
    private let metrics: KeyServiceMetrics
    private let logger: Logger
    private let explain: @Sendable (any Error) -> String
    private let state = Lock(State())

    /// - Parameters:
    ///   - timeout: the time after which a check that has not ended counts as failed.
    ///   - check: throws if the service cannot work.
    init(
        control: KeyServiceControl, metrics: KeyServiceMetrics, logger: Logger,
        timeout: DispatchTimeInterval = .seconds(5),
        explain: @escaping @Sendable (any Error) -> String = { "\($0)" },
        check: @escaping @Sendable () async throws -> Void
    ) {
        self.control = control
        self.metrics = metrics
        self.logger = logger
        self.timeout = timeout
        self.explain = explain
        self.check = check
    }

    /// Whether the service can work, and is not draining. The answer comes in time, also if the check hangs.
    var isReady: Bool {
        get async {
            guard !control.isDraining else {
                metrics.isReady(false)
                return false
            }
            return await withCheckedContinuation { join($0) }
        }
    }

    /// Brings the figure up to date, but waits for nothing: it may have its new value only after the next check.
    func refresh() {
        if control.isDraining { metrics.isReady(false) } else { join(nil) }
    }

    /// Starts a check if the last one is too old.
    ///
    /// - Parameter caller: gets the result; nil if nobody waits for it.
    private func join(_ caller: CheckedContinuation<Bool, Never>?) {
        let (known, mustStart) = state.withLock { state -> (Bool?, Bool) in
            if let last = state.last, last.time.duration(to: .now) < Self.validity { return (last.isReady, false) }
            if state.isLate { return (false, false) }
            if let caller { state.waiting.append(caller) }
            defer { state.isRunning = true }
            return (nil, !state.isRunning)
        }
        if let known { caller?.resume(returning: known) }
        if mustStart { start() }
    }

    private func start() {
        let number = state.withLock { state in
            state.checks += 1
            return state.checks
        }
        Task {
            do {
                try await check()
                end(isReady: true)
            } catch {
                logger.error("Not ready", metadata: ["error": "\(explain(error))"])
                end(isReady: false)
            }
        }
        DispatchQueue.global().asyncAfter(deadline: .now() + timeout) { [weak self] in self?.giveUp(number) }
    }

    private func end(isReady: Bool) {
        let waiting = state.withLock { state in
            (state.isRunning, state.isLate, state.last) = (false, false, (.now, isReady))
            defer { state.waiting.removeAll() }
            return state.waiting
        }
        metrics.isReady(isReady && !control.isDraining)
        for caller in waiting { caller.resume(returning: isReady) }
    }

    /// Answers those who wait for a check that has not ended in time.
    private func giveUp(_ number: Int) {
        let waiting = state.withLock { state -> [CheckedContinuation<Bool, Never>]? in
            guard state.isRunning, state.checks == number else { return nil }
            state.isLate = true
            defer { state.waiting.removeAll() }
            return state.waiting
        }
        guard let waiting else { return }
        logger.error("Not ready", metadata: ["error": "The check of the store has not ended in time."])
        metrics.isReady(false)
        for caller in waiting { caller.resume(returning: false) }
    }
}
