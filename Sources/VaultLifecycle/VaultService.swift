public import CredentialVault
@_exported public import ServiceLifecycle

/// A service for a `ServiceGroup` of swift-service-lifecycle. It locks an app's vaults when the app stops, and loses no
/// token.
///
/// It does nothing until its group stops, gracefully or because it was cancelled. Then it locks each vault, and waits
/// until a renewed token is stored, and until a guess at the key service is finished: a right guess would otherwise
/// count as wrong. After that, no renewal begins any more. A session that the agent holds stays open there.
///
/// A group stops its services from the last to the first. So let this service be the first one: then the services that
/// use a vault have stopped before it.
///
/// ```swift
/// let group = ServiceGroup(
///     services: [VaultService(vault), webServer], gracefulShutdownSignals: [.sigterm, .sigint], logger: logger)
/// try await group.run()
/// ```
///
/// On a full disk, a renewed token cannot be stored, and the service waits until it can. If the group limits the
/// time of its shutdown, the token is lost after that time.
public struct VaultService: Service {
    private let vaults: @Sendable () async -> [Vault]

    /// Makes the service of one vault.
    ///
    /// - Parameter vault: the vault that the app uses.
    public init(_ vault: Vault) { vaults = { [vault] } }

    /// Makes the service of an app with one vault for each person.
    ///
    /// - Parameter vaults: returns the vaults. It is called once, when the group stops.
    public init(vaults: @escaping @Sendable () async -> [Vault]) { self.vaults = vaults }

    /// Waits until the group stops, and then ends the logins.
    public func run() async throws {
        // A cancelled group stops, too.
        try? await gracefulShutdown()
        let open = await vaults()
        // First all locks: one vault may have to wait for its server.
        for vault in open { await vault.auth.lock(.programStops) }
        for vault in open { await Self.finish(vault.auth.stopGuard) }
    }

    private static func finish(_ stopGuard: StopGuard) async {
        while !stopGuard.close() {
            await withCheckedContinuation { continuation in stopGuard.whenIdle { continuation.resume() } }
        }
    }
}
