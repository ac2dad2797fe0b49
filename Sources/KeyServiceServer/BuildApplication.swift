internal import Foundation
package import Hummingbird
internal import HummingbirdCore
package import KeyServiceAudit
package import KeyServiceCore
package import Logging
internal import NIOCore
internal import ServiceLifecycle

/// The address of a running key service.
package struct BoundAddress: Sendable {
    /// The numeric address.
    package let host: String
    /// The TCP port. If the configuration has 0, it is the port that the system chose.
    package let port: Int
    /// The base URL for clients, with the base path and without a trailing slash.
    package let baseURL: String

    init?(_ channel: any Channel, scheme: String = "http", basePath: String = "") {
        guard let address = channel.localAddress, let host = address.ipAddress, let port = address.port else {
            return nil
        }
        let urlHost = host.contains(":") ? "[\(host)]" : host
        self.host = host
        self.port = port
        baseURL = "\(scheme)://\(urlHost):\(port)\(basePath)"
    }
}

/// The connections between a service and its operator: control, metrics, audit log and callbacks.
package struct KeyServiceOperation: Sendable {
    /// The operator's control of the running service.
    package var control = KeyServiceControl()
    /// The figures of the service.
    package var metrics = KeyServiceMetrics()
    /// The audit log; nil for none.
    package var audit: AuditLog?
    /// Finds out whom an access token speaks for; nil if the service keeps no lists of devices.
    package var owners: (any OwnerVerifier)?
    /// Returns all metrics for `/metrics`, as text for Prometheus; nil for no such path.
    package var metricsText: (@Sendable () -> String)?
    /// Says an error in the log. The program adds what to type.
    package var explain: @Sendable (any Error) -> String = { "\($0)" }
    /// Called once the service accepts connections.
    package var onRunning: @Sendable (BoundAddress) async -> Void = { _ in }
    /// Called once the listener for health checks accepts connections, if there is one.
    package var onHealthRunning: @Sendable (BoundAddress) async -> Void = { _ in }

    /// Makes an operation without audit log, metrics path and callbacks.
    package init() {}
}

/// Builds the key service. Nothing runs yet: call `run()` inside a `ServiceGroup`, or `runService()`, which ends on
/// SIGTERM and SIGINT after the last requests are answered.
///
/// - Parameters:
///   - configuration: address, base path, limits.
///   - opened: the store of the records, with its master keys.
///   - logger: gets a line for each request, without secrets, bodies or keys.
///   - now: returns the time in seconds since 1970; nil for the system's clock.
///   - operation: the control, metrics, audit log and callbacks.
/// - Throws: ``KeyServiceServerError`` with code `configurationInvalid` if a setting is out of bounds or a file for TLS
///   is bad, `rolledBack`, `busy` or `storeUnusable` if the store cannot be written. `run()` throws a
///   ``ListenFailure`` if the address for health checks cannot be used.
package func buildApplication(
    _ configuration: KeyServiceServerConfiguration, _ opened: OpenedStore, logger: Logger,
    now: (@Sendable () -> Int64)? = nil, operation: KeyServiceOperation = KeyServiceOperation()
) async throws -> some ApplicationProtocol {
    let configuration = try configuration.validated()
    let limits = try await opened.store.state().limits
    let wanted = GuessLimits(
        inARow: configuration.maxGuesses ?? limits.inARow, inAll: configuration.maxGuessesTotal ?? limits.inAll)
    try await opened.store.setLimits(wanted)
    return try await buildApplication(
        configuration, commits: GroupCommit(store: opened.store, observer: operation.metrics),
        masterKeys: opened.masterKeys, mark: opened.mark, operations: opened.store,
        logger: logger, now: now ?? { Int64(Date().timeIntervalSince1970) }, operation: operation)
}

/// Builds the key service over a writer.
///
/// - Parameter operations: the store for the identity and for lists of devices, whose old keys are erased from time to
///   time; nil for none.
func buildApplication(
    _ configuration: KeyServiceServerConfiguration, commits: GroupCommit, masterKeys: MasterKeys,
    mark: HighWaterMark? = nil, operations: (any KeyRecordOperations)? = nil, logger: Logger,
    now: @escaping @Sendable () -> Int64,
    operation: KeyServiceOperation = KeyServiceOperation()
) async throws -> some ApplicationProtocol {
    let keeper = KeyKeeper(
        masterKeys: masterKeys, commits: commits,
        stretching: StretchingPool(
            threads: configuration.stretchingThreads, maxRequests: configuration.maxStretchingRequests,
            observer: operation.metrics),
        argon2: configuration.argon2, now: now)
    var identity: IdentityWatch?
    if let operations { identity = try await IdentityWatch(operations, masterKeys) }
    let endsUnclaimedKeys = configuration.endsUnclaimedKeys && operations != nil && operation.owners != nil
    let oprf = try OPRFKeeper(
        masterKeys: masterKeys, commits: commits, endsUnclaimedKeys: endsUnclaimedKeys, identity: identity, now: now)
    let watch = StoreWatch(
        commits: commits, masterKeys: masterKeys, mark: mark, observer: operation.metrics, now: now)
    try await watch.checkIn()
    operation.metrics.isReady(true)
    let health = HealthResponder(
        readiness: Readiness(
            control: operation.control, metrics: operation.metrics, logger: logger, explain: operation.explain
        ) {
            try operation.audit?.checkWorking()
            try await watch.checkIn()
        },
        metrics: operation.metrics, metricsText: operation.metricsText)
    let log = try RequestLog(logger, keyTags: KeyTags(masterKeys.current))
    let sweeping = operations.map {
        SweepService(
            store: $0, watch: watch, destroyAfter: configuration.destroyAfter, endsUnclaimedKeys: endsUnclaimedKeys,
            metrics: operation.metrics, audit: operation.audit, logger: logger, explain: operation.explain)
    }
    let devices = operations.flatMap { store in
        operation.owners.map {
            DeviceKeeper(
                keeper: oprf, store: store, verifier: $0, masterKeys: masterKeys,
                mayUnlock: configuration.ownersMayUnlock)
        }
    }
    let committing = CommitService(
        commits: commits, watch: watch, control: operation.control, logger: logger, explain: operation.explain)
    return try assemble(
        configuration, keeper: keeper, oprf: oprf, devices: devices, health: health, log: log, logger: logger,
        operation: operation,
        services: [committing]
            + (operation.audit.map { [AuditService(log: $0, store: operations)] } ?? []) + [sweeping].compactMap(\.self)
            + [identity.map(IdentityService.init)].compactMap(\.self))
}

/// Puts the listeners together.
///
/// - Parameter services: the services that end after the listeners.
private func assemble(
    _ configuration: KeyServiceServerConfiguration, keeper: KeyKeeper, oprf: OPRFKeeper,
    devices: DeviceKeeper?,
    health: HealthResponder, log: RequestLog, logger: Logger, operation: KeyServiceOperation, services: [any Service]
) throws -> some ApplicationProtocol {
    let metrics = operation.metrics
    let proxies = TrustedProxies(configuration.trustedProxies.compactMap(NetworkAddress.Range.init))
    let connections = ConnectionTable(
        limit: configuration.maxConnections, perAddress: configuration.maxConnectionsPerAddress, trusted: proxies,
        metrics: metrics)
    let certificate = try configuration.tls.map { try ServerCertificate($0, metrics: metrics) }
    operation.control.use(connections)
    operation.control.use(certificate)
    let quiet = Logger(label: "libraries") { _ in QuietLogHandler(logger) }
    let deadline = TimeAmount.milliseconds(Int64(configuration.requestDeadline))
    // Services end in reverse order. So the health listener still answers while the last requests finish.
    var services = services
    if let address = configuration.healthAddress {
        services.append(
            HealthListener(
                address: address, responder: health, deadline: deadline, logger: quiet,
                onRunning: { channel in
                    guard let bound = BoundAddress(channel) else { return }
                    await operation.onHealthRunning(bound)
                }))
    }
    if let certificate {
        if certificate.hasExpired {
            logger.warning("The certificate has expired: clients will refuse it. Put a new one into its file")
        }
        services.append(
            CertificateWatch(
                certificate: certificate, logger: logger, explain: operation.explain,
                interval: .milliseconds(configuration.certificateCheckInterval)))
    }
    return Application(
        responder: KeyServiceResponder(
            configuration: configuration, proxies: proxies, keeper: keeper, oprf: oprf,
            devices: devices, health: health,
            metrics: metrics, log: log,
            audit: operation.audit),
        server: HTTPServerBuilder { responder in
            GuardedChannel(
                responder: responder, connections: connections, deadline: deadline, certificate: certificate,
                onTimeout: { metrics.requestTimedOut() },
                onMalformed: {
                    metrics.requestMalformed()
                    log.malformed()
                })
        },
        configuration: ApplicationConfiguration(
            address: .hostname(configuration.host, port: configuration.port),
            availableConnectionsDelegate: MaximumAvailableConnections(connections.acceptLimit, logger: quiet)),
        services: services,
        onServerRunning: { channel in
            let scheme = certificate == nil ? "http" : "https"
            guard let bound = BoundAddress(channel, scheme: scheme, basePath: configuration.basePath) else { return }
            await operation.onRunning(bound)
        },
        logger: quiet)
}
