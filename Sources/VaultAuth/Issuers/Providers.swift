internal import OpenIDConnect
internal import VaultHTTP
internal import VaultLocks

/// The OpenID providers in use. Each is made once, as it keeps what the provider published of itself.
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

    /// Forgets the clients that have a secret: it belongs to an account that is closed now.
    func forgetSecrets() { known.withLock { known in known = known.filter { $0.key.secret == nil } } }

    /// The provider as seen by a client, with its secret if it has one.
    ///
    /// - Parameter authenticationMethod: how the client was registered to use the secret; nil when that is not known.
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
