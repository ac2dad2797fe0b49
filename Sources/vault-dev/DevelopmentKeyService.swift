internal import KeyServiceCore
internal import KeyServiceSQLite
internal import KeyServiceServer
internal import Logging
internal import ServiceLifecycle
internal import VaultBase
internal import VaultDevelopment

/// The key service of this package, on loopback.
final class DevelopmentKeyService: Sendable {
    /// The base URL for clients.
    let baseURL: String
    let port: Int
    private let services: ServiceGroup
    private let running: Task<Void, any Error>

    private init(baseURL: String, port: Int, services: ServiceGroup, running: Task<Void, any Error>) {
        self.baseURL = baseURL
        self.port = port
        self.services = services
        self.running = running
    }

    /// Starts the service. It answers when this returns.
    /// - Parameters:
    ///   - folder: the folder of its master key and database; made if it is missing.
    ///   - provider: the provider whose access tokens prove who owns a device.
    static func start(
        _ address: LoopbackAddress, folder: String, provider: DevelopmentIdentityProvider
    ) async throws -> DevelopmentKeyService {
        let (addresses, started) = AsyncThrowingStream.makeStream(of: BoundAddress.self)
        let logger = Logger(label: "key-service") { _ in SwiftLogNoOpLogHandler() }
        let opened = try await KeyServiceFolder(path: folder).openCreatingIfAbsent()
        var configuration = KeyServiceServerConfiguration()
        configuration.host = address.host
        configuration.port = address.port
        configuration.createsPerHour = 0
        configuration.refusalsPerMinute = 0
        // Most experiments use none of the lists.
        configuration.endsUnclaimedKeys = false
        configuration.ownersMayUnlock = true
        configuration.createsPerHourTotal = 0
        configuration.maxConnectionsPerAddress = 0
        var operation = KeyServiceOperation()
        let owners = DevelopmentOwners(provider: provider)
        operation.onRunning = {
            owners.begin(at: $0.baseURL)
            started.yield($0)
        }
        operation.owners = owners
        let application = try await buildApplication(configuration, opened, logger: logger, operation: operation)
        let services = ServiceGroup(configuration: .init(services: [application], logger: logger))
        let running = Task {
            do {
                try await services.run()
                started.finish()
            } catch {
                started.finish(throwing: error)
                throw error
            }
        }
        do {
            for try await bound in addresses {
                return DevelopmentKeyService(
                    baseURL: bound.baseURL, port: bound.port, services: services, running: running)
            }
            throw CancellationError()
        } catch {
            running.cancel()
            _ = await running.result
            throw VaultDevError(
                """
                The key service did not start, because it cannot listen on \(address). \
                Name another address with --key-service-listen.
                """)
        }
    }

    func waitUntilEnded() async { _ = await running.result }

    /// Stops the service, and returns within a second. After half a second, the connections of open requests are
    /// dropped.
    func stop() async {
        await services.triggerGracefulShutdown()
        let (ends, ended) = AsyncStream.makeStream(of: Void.self)
        let waiting = Task {
            _ = await running.result
            ended.finish()
        }
        let limit = Task {
            try? await Task.sleep(for: .milliseconds(500))
            running.cancel()
            try? await Task.sleep(for: .milliseconds(200))
            ended.finish()
        }
        for await _ in ends {}
        limit.cancel()
        waiting.cancel()
    }
}

/// Asks the identity provider of the same process whom an access token speaks for.
private final class DevelopmentOwners: OwnerVerifier {
    private let provider: DevelopmentIdentityProvider
    /// The base URL for clients, which is also the audience of access tokens. It is known after the port.
    private let baseURL = Lock("")

    init(provider: DevelopmentIdentityProvider) { self.provider = provider }

    func begin(at url: String) { baseURL.withLock { $0 = url } }

    func owner(of presented: PresentedToken) async throws -> VerifiedOwner {
        let baseURL = baseURL.withLock { $0 }
        let found: DevelopmentIdentityProvider.TokenOwner?
        do {
            found = try await provider.owner(
                ofAccessToken: presented.token, proof: presented.proof, at: baseURL + presented.path,
                audience: baseURL)
        } catch {
            throw OwnerVerificationError.invalidProof
        }
        guard let found else { throw OwnerVerificationError.invalidToken }
        return VerifiedOwner(
            KeyOwner(issuer: provider.issuer, subject: found.subject), authenticatedAt: Int64(found.authenticatedAt))
    }
}
