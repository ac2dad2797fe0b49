internal import OpenIDConnect
internal import VaultBase
internal import VaultHTTP
internal import VaultStorage

/// The token endpoint (RFC 6749 section 3.2) of a server without discovery, for an app that gets its tokens in its own
/// way. The app passes them to ``Auth/setTokens(access:refresh:expiresIn:subject:)``, and the vault renews them here.
///
/// The URL is also the issuer of the accounts. So each program that opens such an account renews its tokens here, without
/// a setting.
public struct OAuthTokenEndpoint: Sendable, Hashable {
    /// The URL that exchanges a refresh token for new tokens.
    public let url: String
    /// The public client that the tokens were issued to.
    public let clientID: String

    /// Names an endpoint. Nothing is checked or sent here.
    ///
    /// - Parameters:
    ///   - url: the URL of the endpoint: https, or plain http to this machine.
    ///   - clientID: the public client that the tokens were issued to.
    public init(url: String, clientID: String) {
        self.url = url
        self.clientID = clientID
    }
}

/// Token endpoints as a kind of server.
struct TokenEndpoints: IssuerKind {
    let transport: any HTTPTransport
    let clock: any WallClock

    func issues(tokensOf key: IssuerKey) -> Bool { key.method == .tokenEndpoint }

    func issuer(of key: IssuerKey, layout: StoredLayout?) throws -> any TokenIssuer {
        let exchange = DPoPExchange(
            connection: ProviderConnection(transport: transport), nonces: DPoPNonces(), clock: clock)
        return TokenEndpointIssuer(
            server: TokenEndpointServer(tokenEndpoint: key.issuer),
            client: OAuthClient(id: key.clientID, exchange: exchange, clock: clock))
    }
}

/// A token endpoint as the issuer of an account's tokens. The answer of the endpoint does not name the person, so only
/// the refresh token connects it to the account.
struct TokenEndpointIssuer: TokenIssuer {
    let server: TokenEndpointServer
    let client: OAuthClient

    func warmUp() async {}

    func renew(
        _ credential: Credential, of id: AccountID, keep: (Credential) async throws -> Void
    ) async throws -> TokenSet {
        let answer = try await client.redeem(.refreshToken(credential.value), at: server)
        var renewed = credential
        // An answer without a refresh token keeps the old one (RFC 6749 section 6).
        renewed.value = answer.refreshToken ?? credential.value
        renewed.scope = answer.scope ?? credential.scope
        if answer.hasToken { try await keep(renewed) }
        return TokenSet(try answer.usable())
    }

    func revoke(_ credential: Credential, of id: AccountID) async throws {
        throw OpenIDConnectError(.unsupported, "revoking tokens")
    }
}

/// The little that is known about a server without discovery.
struct TokenEndpointServer: AuthorizationServer {
    let tokenEndpoint: String

    var issuer: String { tokenEndpoint }
    // Nobody signs in with the browser here.
    var authorizationEndpoint: String { "" }
    var revocationEndpoint: String? { nil }
    var tokenEndpointAuthMethodsSupported: [String]? { nil }
    // A proxy in front of the server may have sent the refusal.
    var refusesDeadGrantsSilently: Bool { false }
}
