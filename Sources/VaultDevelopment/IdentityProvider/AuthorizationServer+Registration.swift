internal import FoundationEssentials

/// Clients that register themselves (RFC 7591), see their registration and remove it (RFC 7592).
extension AuthorizationServer {
    /// What a client says of itself (RFC 7591 section 2). Members that are not here are ignored, as the RFC wants it.
    private struct Metadata: Codable {
        var clientName: String?
        var redirectUris: [String]?
        var postLogoutRedirectUris: [String]?
        var grantTypes: [String]?
        var responseTypes: [String]?
        var tokenEndpointAuthMethod: String?
    }

    /// What it is told (section 3.2.1).
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
            throw OAuthError("invalid_client_metadata", "No grant type and response type of those is offered.")
        }
        let redirectURIs = wish.redirectUris ?? []
        guard redirectURIs.allSatisfy(RedirectURI.isRegistrable),
            !redirectURIs.isEmpty || !grants.contains("authorization_code")
        else {
            throw OAuthError("invalid_redirect_uri", "A redirect URI is missing, or is not one of a native app.")
        }
        // RFC 7591 section 2 has client_secret_basic for a client that names no method.
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

    /// What a client is registered with, without its secrets.
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
