public import VaultHTTP
internal import VaultJSON

/// One OpenID provider as seen by one client: sign in, refresh, revoke, and what goes with that.
///
/// It keeps the provider's metadata and keys for as long as the provider lets it, so keep one per issuer and client. It
/// may be used from any number of tasks; concurrent callers share one request for metadata or keys. Every method throws
/// ``OpenIDConnectError`` only.
public final class OpenIDProvider: Sendable {
    /// The configured issuer identifier.
    public let issuer: String
    /// The client identifier at this provider; empty for a client that is yet to register.
    public let clientID: String
    /// Whether tokens are bound to keys where the provider can (RFC 9449).
    public let usesDPoP: Bool

    let connection: ProviderConnection
    let clock: any WallClock
    let oauth: OAuthClient
    let verifier: IDTokenVerifier
    private let discovery: Discovery
    private let keys: KeySource

    /// Describes a provider. Nothing is fetched yet.
    ///
    /// - Parameters:
    ///   - issuer: the issuer identifier, exactly as the provider writes it.
    ///   - clientID: the identifier of the client, registered at the provider; may be empty for ``metadata()`` and
    ///     ``registerClient(_:initialAccessToken:)``.
    ///   - clientSecret: the client's secret; nil for a public client.
    ///   - tokenEndpointAuthMethod: how the client was registered to use its secret, `client_secret_basic` or
    ///     `client_secret_post`; nil to go by what the provider announces.
    ///   - usesDPoP: whether to bind tokens to a key where the provider can. Whoever says yes has to keep
    ///     ``TokenSet/dpopKey``.
    ///   - transport: sends the requests.
    ///   - clock: tells the time.
    public init(
        issuer: String, clientID: String, clientSecret: String? = nil, tokenEndpointAuthMethod: String? = nil,
        usesDPoP: Bool = true, transport: any HTTPTransport, clock: any WallClock = SystemWallClock()
    ) {
        let connection = ProviderConnection(transport: transport)
        let discovery = Discovery(issuer: issuer, connection: connection, clock: clock)
        let keys = KeySource(clock: clock) {
            let answer = try await connection.getDocument(try await discovery.metadata().jwksURI, named: "the key set")
            guard let keys = answer.json["keys"]?.array else {
                throw OpenIDConnectError(.invalidAnswer, "the key set has no keys")
            }
            return (SignatureKey.keys(in: keys), answer.lifetime)
        }
        self.issuer = issuer
        self.clientID = clientID
        self.usesDPoP = usesDPoP
        self.connection = connection
        self.discovery = discovery
        self.keys = keys
        self.clock = clock
        oauth = OAuthClient(
            id: clientID, secret: clientSecret, method: tokenEndpointAuthMethod,
            exchange: DPoPExchange(connection: connection, nonces: DPoPNonces(), clock: clock), clock: clock)
        verifier = IDTokenVerifier(issuer: issuer, clientID: clientID, clock: clock, keys: keys)
    }

    /// What the provider says about itself: its discovery document (OpenID Connect Discovery 1.0 section 4), or where
    /// there is none (404, 410) its RFC 8414 metadata.
    ///
    /// It is fetched at the first call and again when its lifetime is over (`Cache-Control`, between a minute and a day;
    /// an hour when the provider does not say). When it cannot be renewed the old one serves on, up to a day.
    ///
    /// - Throws: ``OpenIDConnectError``: `unavailable`, `invalidAnswer`, `configurationInvalid` or `cancelled`. A
    ///   failure is not kept: the next call tries again.
    public func metadata() async throws -> ProviderMetadata {
        try await discovery.metadata()
    }

    /// The same, with the members that only the provider's RFC 8414 document has, if there is such a document and it
    /// names the same issuer.
    package func completeMetadata() async throws -> ProviderMetadata {
        try await discovery.completeMetadata()
    }

    /// Fetches what a later call needs, ignoring failures: call it while something else takes its time.
    public func warmUp() async {
        _ = try? await keys.keys()
    }

    /// A key for the tokens of a new sign-in; nil when they are not going to be bound to one.
    func newDPoPKey(_ metadata: ProviderMetadata) -> DPoPKey? {
        usesDPoP && metadata.dpopSigningAlgValuesSupported?.contains("ES256") == true ? DPoPKey() : nil
    }

    /// Ends a sign-in: there must be an ID token, and it must be right.
    func completed(
        _ answer: TokenAnswer, dpopKey: DPoPKey?, expecting expectation: IDTokenVerifier.Expectation
    ) async throws -> TokenSet {
        var tokens = TokenSet(try answer.usable(with: dpopKey), dpopKey: dpopKey)
        guard let idToken = answer.unverifiedIDToken else {
            throw OpenIDConnectError(.invalidAnswer, "the token answer has no ID token", mayHaveBeenProcessed: true)
        }
        do {
            tokens.idToken = try await verifier.verify(
                idToken, accessToken: tokens.accessToken, expecting: expectation)
        } catch let error as OpenIDConnectError {
            throw error.processed(true)  // The grant is used up.
        }
        return tokens
    }
}

extension TokenAnswer {
    /// Not verified yet; nil when there is none.
    var unverifiedIDToken: String? { json["id_token"]?.string }
}
