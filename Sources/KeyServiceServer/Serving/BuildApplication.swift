internal import Foundation
public import Hummingbird
internal import HummingbirdCore
public import Logging
internal import NIOCore
internal import ServiceLifecycle

/// The address of a running key service.
public struct BoundAddress: Sendable {
    /// The numeric address.
    public let host: String
    /// The TCP port, also when the configuration asked for 0.
    public let port: Int
    /// The base URL for clients, with the base path and without a trailing slash.
    public let baseURL: String
}

/// Builds the key service. Nothing runs yet: call `run()` inside a `ServiceGroup`, or `runService()`, which ends on
/// SIGTERM and SIGINT after the last requests are answered.
///
/// - Parameters:
///   - configuration: address, base path, limits.
///   - opened: the store of the records, with its master keys.
///   - logger: gets a line for each request, without secrets, bodies or keys.
///   - now: returns the time in seconds since 1970; nil for the system's clock.
///   - onServerRunning: called once the server accepts connections.
/// - Throws: ``KeyServiceServerError`` with code `configurationInvalid` if a setting is out of bounds, `rolledBack`,
///   `busy` or `storeUnusable` if the store cannot be written.
public func buildApplication(
    _ configuration: KeyServiceServerConfiguration, _ opened: OpenedStore, logger: Logger,
    now: (@Sendable () -> Int64)? = nil,
    onServerRunning: @escaping @Sendable (BoundAddress) async -> Void = { _ in }
) async throws -> some ApplicationProtocol {
    let configuration = try configuration.validated()
    let limits = try await opened.store.state().limits
    let wanted = GuessLimits(
        inARow: configuration.maxGuesses ?? limits.inARow, inAll: configuration.maxGuessesTotal ?? limits.inAll)
    try await opened.store.setLimits(wanted)
    return try await buildApplication(
        configuration, commits: GroupCommit(store: opened.store), masterKeys: opened.masterKeys, mark: opened.mark,
        logger: logger, now: now ?? { Int64(Date().timeIntervalSince1970) }, onServerRunning: onServerRunning)
}

/// Builds the key service over a writer.
func buildApplication(
    _ configuration: KeyServiceServerConfiguration, commits: GroupCommit, masterKeys: MasterKeys,
    mark: HighWaterMark? = nil, logger: Logger, now: @escaping @Sendable () -> Int64,
    onServerRunning: @escaping @Sendable (BoundAddress) async -> Void
) async throws -> some ApplicationProtocol {
    let keeper = KeyKeeper(
        masterKeys: masterKeys, commits: commits,
        stretching: StretchingPool(
            threads: configuration.stretchingThreads, places: configuration.stretchingPlaces),
        argon2: configuration.argon2, now: now)
    let watch = StoreWatch(commits: commits, masterKeys: masterKeys, mark: mark, now: now)
    try await watch.checkIn()
    let basePath = configuration.basePath
    return Application(
        responder: KeyServiceResponder(
            basePath: basePath, keeper: keeper, watch: watch, logger: logger,
            keyTags: try KeyTags(masterKeys.current)),
        server: .http1(configuration: .init(idleTimeout: .seconds(60))),
        configuration: ApplicationConfiguration(
            address: .hostname(configuration.host, port: configuration.port),
            availableConnectionsDelegate: MaximumAvailableConnections(configuration.maxConnections)),
        services: [CommitService(commits: commits, watch: watch)],
        onServerRunning: { channel in
            guard let address = channel.localAddress, let host = address.ipAddress, let port = address.port else {
                return
            }
            let urlHost = host.contains(":") ? "[\(host)]" : host
            await onServerRunning(
                BoundAddress(host: host, port: port, baseURL: "http://\(urlHost):\(port)\(basePath)"))
        },
        logger: logger)
}

/// Raises the high-water mark while the service runs, and makes returned guesses durable before the process ends.
/// Services end in reverse order, so the server has answered its last request by then.
private struct CommitService: Service {
    let commits: GroupCommit
    let watch: StoreWatch

    func run() async throws {
        try await cancelWhenGracefulShutdown { try await watch.run() }
        await commits.flush()
        try? await watch.checkIn()
    }
}
