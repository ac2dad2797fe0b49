internal import VaultBase

/// The operator's control of a running service.
package final class KeyServiceControl: Sendable {
    private struct State {
        var isDraining = false
        var connections: [ConnectionTable] = []
        var certificate: ServerCertificate?
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
