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
///   - store: the store of the records.
///   - masterKey: the key that wraps the records of this store.
///   - logger: gets a line for each request, without secrets, bodies or keys.
///   - now: returns the time in seconds since 1970; nil for the system's clock.
///   - onServerRunning: called once the server accepts connections.
/// - Throws: ``KeyServiceServerError`` with code `configurationInvalid` if a setting is out of bounds or the master key
///   is not the store's, `busy` or `storeUnusable` if the store cannot be written.
public func buildApplication(
    _ configuration: KeyServiceServerConfiguration, store: any KeyRecordStore, masterKey: MasterKey, logger: Logger,
    now: (@Sendable () -> Int64)? = nil,
    onServerRunning: @escaping @Sendable (BoundAddress) async -> Void = { _ in }
) throws -> some ApplicationProtocol {
    let configuration = try configuration.validated()
    let commits = GroupCommit(store: store)
    let keeper = KeyKeeper(
        masterKey: masterKey, commits: commits,
        stretching: StretchingPool(
            threads: configuration.stretchingThreads, places: configuration.stretchingPlaces),
        argon2: configuration.argon2, limits: configuration.guessLimits,
        now: now ?? { Int64(Date().timeIntervalSince1970) })
    if case .checkedIn(let check)? = try store.commit([keeper.checkIn()]).first {
        try masterKey.verify(check)
    }
    let basePath = configuration.basePath
    return Application(
        responder: KeyServiceResponder(
            basePath: basePath, keeper: keeper, logger: logger, keyTags: try KeyTags(masterKey)),
        server: .http1(configuration: .init(idleTimeout: .seconds(60))),
        configuration: ApplicationConfiguration(
            address: .hostname(configuration.host, port: configuration.port),
            availableConnectionsDelegate: MaximumAvailableConnections(configuration.maxConnections)),
        services: [CommitService(commits: commits)],
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

/// Makes returned guesses durable before the process ends. Services end in reverse order, so the server has answered
/// its last request by then.
private struct CommitService: Service {
    let commits: GroupCommit

    func run() async throws {
        try? await gracefulShutdown()
        await commits.flush()
    }
}
