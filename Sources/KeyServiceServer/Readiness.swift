internal import Logging

/// The answer to `/readyz`. Each check writes to the store, so all requests of a second share one check.
actor Readiness {
    private static let validity = Duration.seconds(1)
    /// The time after which a check that has not ended counts as failed.
    private static let timeout = Duration.seconds(5)

    private let check: @Sendable () async throws -> Void
    private let control: KeyServiceControl
    private let metrics: KeyServiceMetrics
    private let logger: Logger
    private let explain: @Sendable (any Error) -> String
    private var last: (time: ContinuousClock.Instant, isReady: Bool)?
    private var running: (start: ContinuousClock.Instant, task: Task<Bool, Never>)?

    /// - Parameters:
    ///   - check: throws if the service cannot work.
    init(
        control: KeyServiceControl, metrics: KeyServiceMetrics, logger: Logger,
        explain: @escaping @Sendable (any Error) -> String = { "\($0)" },
        check: @escaping @Sendable () async throws -> Void
    ) {
        self.control = control
        self.metrics = metrics
        self.logger = logger
        self.explain = explain
        self.check = check
    }

    /// Whether the service can work, and is not draining.
    var isReady: Bool {
        get async {
            let isReady = control.isDraining ? false : await isStoreReady
            metrics.isReady(isReady)
            return isReady
        }
    }

    private var isStoreReady: Bool {
        get async {
            if let last, last.time.duration(to: .now) < Self.validity { return last.isReady }
            if let running {
                return running.start.duration(to: .now) < Self.timeout ? await running.task.value : false
            }
            let task = Task { [check, logger, explain] in
                do {
                    try await check()
                    return true
                } catch {
                    logger.error("Not ready", metadata: ["error": "\(explain(error))"])
                    return false
                }
            }
            running = (.now, task)
            let isReady = await task.value
            running = nil
            last = (.now, isReady)
            return isReady
        }
    }
}
