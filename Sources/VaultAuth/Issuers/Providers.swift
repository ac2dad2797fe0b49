internal import OpenIDConnect
internal import VaultBase
internal import VaultHTTP

/// The OpenID providers in use. Each is made once, because it keeps the provider's metadata.
final class Providers: Sendable {
    private struct Client: Hashable {
        let issuer: String
        let id: String
        let secret: String?
        let method: String?
    }

    private let known = Lock<[Client: OpenIDProvider]>([:])
    private let usesDPoP: Bool
    private let transport: any HTTPTransport
    private let clock: any WallClock

    init(usesDPoP: Bool, transport: any HTTPTransport, clock: any WallClock) {
        self.usesDPoP = usesDPoP
        self.transport = transport
        self.clock = clock
    }

    /// Forgets the clients that have a secret. The secret belongs to an account that is closed now.
    func forgetSecrets() { known.withLock { known in known = known.filter { $0.key.secret == nil } } }

    /// Returns the provider for a client, with the client's secret if it has one.
    ///
    /// - Parameter authenticationMethod: the registered way to use the secret; nil if it is not known.
    func provider(
        issuer: String, clientID: String, clientSecret: String? = nil, authenticationMethod: String? = nil
    ) -> OpenIDProvider {
        known.withLock { known in
            let client = Client(issuer: issuer, id: clientID, secret: clientSecret, method: authenticationMethod)
            if let provider = known[client] { return provider }
            let provider = OpenIDProvider(
                issuer: issuer, clientID: clientID, clientSecret: clientSecret,
                tokenEndpointAuthMethod: authenticationMethod, usesDPoP: usesDPoP, transport: transport, clock: clock)
            known[client] = provider
            return provider
        }
    }
}
