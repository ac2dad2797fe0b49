internal import OpenIDConnect
internal import VaultBase
public import VaultHTTP
package import VaultStorage

/// What a server says about itself before a sign-in. Use it to offer only the ways to sign in that the server has.
public struct ServerInformation: Sendable, Hashable {
    /// The server's version, as the server writes it; nil if it does not say.
    public let version: String?
    /// Whether the person can sign in with OAuth.
    public let hasOAuth: Bool

    init(_ answer: JSONValue, _ layout: BackendLayout.Server) {
        version = answer[path: layout.version]?.string
        hasOAuth = answer[path: layout.features]?.array?.contains(.string(layout.oauthFeature)) == true
    }

    /// Asks a server.
    ///
    /// - Parameters:
    ///   - url: the server's base URL, as a person types it.
    ///   - layout: the names of its paths and fields.
    ///   - allowsInsecureHTTP: whether the person allowed plain `http` to a server on the local network.
    ///   - transport: sends the request.
    /// - Returns: nil if the server has no such call, like the oldest servers. The address may also be wrong.
    /// - Throws: ``VaultError``: `configurationInvalid`: correct the address. `identityProviderUnavailable` and the
    ///   other codes of an outage: try again later. `identityProviderAnswerInvalid`: something else answers at this
    ///   address.
    public static func read(
        from url: String, layout: BackendLayout.Server = .init(), allowsInsecureHTTP: Bool = false,
        transport: any HTTPTransport
    ) async throws -> ServerInformation? {
        let endpoint = try ServerEndpoint(url, allowsInsecureHTTP: allowsInsecureHTTP)
        let server = Server(
            connection: BackendConnection(endpoint, transport: transport), layout: layout, clock: SystemWallClock())
        return try await converting { try await server.information() }
    }

    /// Asks the server of an account, with the account's own layout. The person allowed plain `http` when the account
    /// was registered.
    package static func read(of account: Account, transport: any HTTPTransport) async throws -> ServerInformation? {
        let layout = try account.layout.map { try BackendLayout($0) } ?? BackendLayout()
        return try await read(
            from: account.id.issuer, layout: layout.server, allowsInsecureHTTP: true, transport: transport)
    }
}
