internal import VaultBase

/// The operator's control of a running service.
package final class KeyServiceControl: Sendable {
    private struct State {
        var isDraining = false
        var connections: [ConnectionTable] = []
        var certificate: ServerCertificate?
        var onFailure: (@Sendable (any Error) -> Void)?
    }

    private let state = Lock(State())

    /// Makes the control of one service: see ``KeyServiceOperation/control``.
    package init() {}

    /// Whether ``beginDraining()`` was called.
    package var isDraining: Bool { state.withLock { $0.isDraining } }

    /// Answers 503 to `/readyz` from now on, so that a load balancer sends no more requests. Everything else goes on.
    package func beginDraining() {
        state.withLock { $0.isDraining = true }
    }

    /// Closes all connections of clients, with the requests under way.
    package func closeConnections() {
        for table in state.withLock({ $0.connections }) { table.closeAll() }
    }

    /// Sets what happens if the service must not go on. It has to begin an orderly end: the end by an error of one task
    /// cancels all others, and Swift NIO traps if a connection has just come.
    package func onFailure(_ end: @escaping @Sendable (any Error) -> Void) {
        state.withLock { $0.onFailure = end }
    }

    /// Cuts off all requests, and begins the end of the service.
    ///
    /// - Returns: false if nobody set ``onFailure(_:)``.
    func fail(_ error: any Error) -> Bool {
        closeConnections()
        guard let end = state.withLock({ $0.onFailure }) else { return false }
        end(error)
        return true
    }

    /// Reads the files of the certificate again, if there are any. Open connections keep the old certificate.
    ///
    /// - Returns: true if the files were read, false if the service has no certificate.
    /// - Throws: ``KeyServiceServerError`` with code `configurationInvalid` if the files are bad. Then the old
    ///   certificate stays.
    package func reloadCertificate() throws -> Bool {
        guard let certificate = state.withLock({ $0.certificate }) else { return false }
        try certificate.reload()
        return true
    }

    func use(_ table: ConnectionTable) {
        state.withLock { $0.connections.append(table) }
    }

    func use(_ certificate: ServerCertificate?) {
        state.withLock { $0.certificate = certificate }
    }
}
