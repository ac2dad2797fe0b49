internal import Synchronization

/// Fetches the discovery document once, however many ask for it.
final class Discovery: Sendable {
    private let issuer: String
    private let clientID: String
    private let connection: ProviderConnection
    private let flight = SingleFlight<ProviderMetadata>()
    private let cached = Mutex<ProviderMetadata?>(nil)

    init(issuer: String, clientID: String, connection: ProviderConnection) {
        self.issuer = issuer
        self.clientID = clientID
        self.connection = connection
    }

    func metadata() async throws -> ProviderMetadata {
        if let metadata = cached.withLock({ $0 }) { return metadata }
        guard EndpointURL.isAllowed(issuer), !issuer.contains("?") else {
            throw OpenIDConnectError(.configurationInvalid, "the issuer is not an https URL")
        }
        guard !clientID.isEmpty else { throw OpenIDConnectError(.configurationInvalid, "the client ID is empty") }
        do {
            return try await flight.run { [self] in
                // Somebody may have finished between the look above and this run.
                if let metadata = cached.withLock({ $0 }) { return metadata }
                let base = issuer.hasSuffix("/") ? String(issuer.dropLast()) : issuer
                let document = try await connection.getJSON(
                    base + "/.well-known/openid-configuration", named: "the discovery document")
                let metadata = try ProviderMetadata(document: document, issuer: issuer)
                cached.withLock { $0 = metadata }
                return metadata
            }
        } catch let error as CancellationError {
            throw OpenIDConnectError(.cancelled, "", underlying: error)
        }
    }
}
