public import VaultBase
public import VaultHTTP

/// A client's view of one OpenID provider: sign in, refresh, revoke, log out.
///
/// Keep one object per issuer and client, as it stores the provider's metadata and keys. Any number of tasks may use
/// it. Concurrent callers share one request for metadata or keys. Every method throws ``OpenIDConnectError`` only.
public final class OpenIDProvider: Sendable {
    /// The configured issuer identifier.
    public let issuer: String
    /// The client identifier at this provider; empty for a client that is not registered yet.
    public let clientID: String
    /// Whether tokens are bound to keys if the provider supports that (RFC 9449).
    public let usesDPoP: Bool

    let connection: ProviderConnection
    let clock: any WallClock
    let oauth: OAuthClient
    let verifier: IDTokenVerifier
    private let discovery: Discovery
    private let keys: KeySource

    /// Describes a provider, without a request to it.
    ///
    /// - Parameters:
    ///   - issuer: the issuer identifier, exactly as the provider writes it.
    ///   - clientID: the identifier of the client, registered at the provider; empty is allowed for ``metadata()`` and
    ///     ``registerClient(_:initialAccessToken:)``.
    ///   - clientSecret: the client's secret; nil for a public client.
    ///   - tokenEndpointAuthMethod: the registered method of client authentication, `client_secret_basic` or
    ///     `client_secret_post`; nil to follow the provider's announcement.
    ///   - usesDPoP: whether to bind tokens to a key if the provider supports that. With true, keep
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

    /// Returns the provider's discovery document (OpenID Connect Discovery 1.0 section 4). If there is none (404, 410),
    /// returns its RFC 8414 metadata.
    ///
    /// The first call fetches the document, and the first call after its lifetime renews it. `Cache-Control` sets the
    /// lifetime, between a minute and a day; the default is an hour. If the renewal fails, the old document stays in
    /// use for up to a day.
    ///
    /// - Throws: ``OpenIDConnectError``: `unavailable`, `invalidAnswer`, `configurationInvalid` or `cancelled`. The
    ///   next call tries again.
    public func metadata() async throws -> ProviderMetadata {
        try await discovery.metadata()
    }

    /// Returns the metadata, and the members that only the RFC 8414 document has. That document must name the same
    /// issuer.
    package func completeMetadata() async throws -> ProviderMetadata {
        try await discovery.completeMetadata()
    }

    /// Fetches the documents that later calls need, and ignores failures. Call it during other slow work.
    public func warmUp() async {
        _ = try? await keys.keys()
    }

    /// Makes a key for the tokens of a new sign-in; nil if they are not bound to a key.
    func newDPoPKey(_ metadata: ProviderMetadata) -> DPoPKey? {
        usesDPoP && metadata.dpopSigningAlgValuesSupported?.contains("ES256") == true ? DPoPKey() : nil
    }

    /// Completes a sign-in: requires a valid ID token.
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
    /// The ID token before its verification; nil if there is none.
    var unverifiedIDToken: String? { json["id_token"]?.string }
}
