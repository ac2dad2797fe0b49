internal import FoundationEssentials

/// The registration of clients (RFC 7591), and reading and removing it (RFC 7592).
extension AuthorizationServer {
    /// The metadata from a client (RFC 7591 section 2). Other members are ignored, as the RFC demands.
    private struct Metadata: Codable {
        var clientName: String?
        var redirectUris: [String]?
        var postLogoutRedirectUris: [String]?
        var grantTypes: [String]?
        var responseTypes: [String]?
        var tokenEndpointAuthMethod: String?
    }

    /// The answer to the client (section 3.2.1).
    private struct Registration: Encodable {
        var clientId: String
        var clientIdIssuedAt: Int
        var clientSecret: String?
        var clientSecretExpiresAt: Int?
        var registrationAccessToken: String?
        var registrationClientUri: String
        var clientName: String?
        var redirectUris: [String]
        var postLogoutRedirectUris: [String]?
        var grantTypes: [String]
        var responseTypes: [String]
        var tokenEndpointAuthMethod: String
    }

    /// Registers a client.
    /// - Returns: The JSON of the answer.
    func register(_ body: Data) async throws -> Data {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        guard let wish = try? decoder.decode(Metadata.self, from: body) else {
            throw OAuthError("invalid_client_metadata", "The body is not the JSON of a client.")
        }
        let grants = (wish.grantTypes ?? ["authorization_code"]).filter(grantTypes.contains)
        guard !grants.isEmpty, wish.responseTypes ?? ["code"] == ["code"] || !grants.contains("authorization_code")
        else {
            throw OAuthError("invalid_client_metadata", "None of these grant types and response types is offered.")
        }
        let redirectURIs = wish.redirectUris ?? []
        guard redirectURIs.allSatisfy(RedirectURI.isRegistrable),
            !redirectURIs.isEmpty || !grants.contains("authorization_code")
        else {
            throw OAuthError("invalid_redirect_uri", "A redirect URI is missing, or is not one of a native app.")
        }
        // The default method is client_secret_basic (RFC 7591 section 2).
        let asked = wish.tokenEndpointAuthMethod ?? "client_secret_basic"
        guard asked == "none" || secretMethods.contains(asked) else {
            throw OAuthError("invalid_client_metadata", "This token_endpoint_auth_method is not offered.")
        }
        let method = asked == "none" && options.insistsOnClientSecret ? secretMethods[0] : asked
        let now = Int(options.now().timeIntervalSince1970)
        let secret = method == "none" ? nil : randomIdentifier()
        let token = randomIdentifier()
        let client = Client(
            identifier: UUID().uuidString.lowercased(), name: wish.clientName, redirectURIs: redirectURIs,
            postLogoutRedirectURIs: wish.postLogoutRedirectUris ?? [], grantTypes: grants,
            authenticationMethods: [method], secretDigest: secret.map(digest),
            secretExpiresAt: secret == nil ? nil : options.registeredSecretLifetime.map { now + $0 }, issuedAt: now,
            registrationTokenDigest: digest(token))
        state.clients[client.identifier] = client
        try await save()
        log(.init(.registration, .ok, clientID: client.identifier))
        return try protocolJSON(registration(of: client, secret: secret, token: token))
    }

    /// Returns a client's registration without its secrets.
    func registration(_ identifier: String, token: String?) throws -> Data {
        let client = try registered(identifier, token: token)
        log(.init(.registration, .ok, clientID: client.identifier))
        return try protocolJSON(registration(of: client, secret: nil, token: nil))
    }

    /// Forgets a client, and ends its logins.
    func unregister(_ identifier: String, token: String?) async throws {
        let client = try registered(identifier, token: token)
        state.clients[client.identifier] = nil
        state.families = state.families.filter { $0.value.clientID != client.identifier }
        try await save()
        log(.init(.registration, .ok, clientID: client.identifier))
    }

    private func registered(_ identifier: String, token: String?) throws(OAuthError) -> Client {
        guard let client = state.clients[identifier], let token, client.registrationTokenDigest == digest(token) else {
            throw OAuthError("invalid_token", "The registration access token is not valid.", status: 401)
        }
        return client
    }

    private func registration(of client: Client, secret: String?, token: String?) -> Registration {
        Registration(
            clientId: client.identifier, clientIdIssuedAt: client.issuedAt, clientSecret: secret,
            clientSecretExpiresAt: secret == nil ? nil : client.secretExpiresAt ?? 0, registrationAccessToken: token,
            registrationClientUri: "\(issuer)/register/\(client.identifier)", clientName: client.name,
            redirectUris: client.redirectURIs,
            postLogoutRedirectUris: client.postLogoutRedirectURIs.isEmpty ? nil : client.postLogoutRedirectURIs,
            grantTypes: client.grantTypes,
            responseTypes: client.grantTypes.contains("authorization_code") ? ["code"] : [],
            tokenEndpointAuthMethod: client.authenticationMethods[0])
    }
}
