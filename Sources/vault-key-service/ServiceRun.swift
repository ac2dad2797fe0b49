internal import Foundation
internal import KeyServiceAudit
internal import KeyServiceServer
internal import Logging
internal import ServiceLifecycle
internal import UnixSignals

/// Runs the service to its end, and obeys the signals of its operator.
actor ServiceRun {
    private enum Stage {
        case running
        /// The service still takes requests, but says that it ends soon.
        case draining(Task<Void, Never>)
        case finishing
    }

    /// The time for the requests under way.
    private static let finishTime = Duration.seconds(10)

    private let group: ServiceGroup
    private let control: KeyServiceControl
    private let logger: Logger
    private let level: LogLevel
    private let drainDelay: Duration
    private let audit: AuditLog?
    private let readLevel: @Sendable () throws -> Logger.Level
    private let isOnTerminal = isatty(STDIN_FILENO) == 1
    private var stage = Stage.running
    /// The reason why the service must not go on.
    private var failure: (any Error)?

    /// - Parameters:
    ///   - audit: the audit log; nil for none.
    ///   - readLevel: reads the log's level from the settings again.
    init(
        application: any Service, control: KeyServiceControl, logger: Logger, level: LogLevel, drainDelay: Duration,
        audit: AuditLog?, readLevel: @escaping @Sendable () throws -> Logger.Level
    ) {
        let quiet = Logger(label: "services") { _ in SwiftLogNoOpLogHandler() }
        group = ServiceGroup(configuration: .init(services: [application], logger: quiet))
        self.control = control
        self.logger = logger
        self.level = level
        self.drainDelay = drainDelay
        self.audit = audit
        self.readLevel = readLevel
    }

    /// Returns when the service has ended after SIGTERM or SIGINT.
    ///
    /// - Throws: the error that ended the service.
    func run() async throws {
        let signals = await UnixSignalsSequence(trapping: .sigterm, .sigint, .sighup, .sigusr1, .sigusr2)
        let obeying = Task {
            for await signal in signals { await self.obey(signal) }
        }
        defer { obeying.cancel() }
        control.onFailure { [weak self] error in Task { await self?.end(because: error) } }
        try await group.run()
        if let failure { throw failure }
        logger.notice("Stopped")
    }

    private func obey(_ signal: UnixSignal) async {
        switch signal {
        // The signal also comes when the terminal of the service closes. Nobody could stop the service there any more.
        case .sighup: if isOnTerminal, isatty(STDIN_FILENO) == 0 { await end() } else { reload() }
        case .sigusr1, .sigusr2:
            let old = level.current
            level.step(more: signal == .sigusr1)
            let new = level.current
            // The line shows at the old level or at the new one.
            level.current = min(old, new)
            logger.notice("The log level is now \(new.rawValue)")
            level.current = new
        default: await end()
        }
    }

    private func reload() {
        audit?.reopen()
        do {
            level.current = try readLevel()
            let hasCertificate = try control.reloadCertificate()
            logger.notice("Reloaded logLevel=\(level.current.rawValue)\(hasCertificate ? " and the certificate" : "")")
        } catch {
            logger.error(
                "Not reloaded: the service goes on as before", metadata: ["error": "\(Failure.words(error))"])
        }
    }

    /// Begins to end the service, or ends the wait that is under way.
    private func end() async {
        switch stage {
        case .running:
            logger.notice("Stopping")
            Systemd.tell(.stopping, logger)
            control.beginDraining()
            stage = .draining(
                Task {
                    try? await Task.sleep(for: drainDelay)
                    await self.finish()
                })
        case .draining(let wait): wait.cancel()
        case .finishing: control.closeConnections()
        }
    }

    private func end(because error: any Error) async {
        failure = failure ?? error
        Systemd.tell(.stopping, logger)
        await finish()
    }

    private func finish() async {
        stage = .finishing
        await group.triggerGracefulShutdown()
        // The task that calls this may be cancelled, and could not wait.
        Task {
            try? await Task.sleep(for: Self.finishTime)
            logger.warning("Requests under way were cut off")
            control.closeConnections()
        }
    }
}
