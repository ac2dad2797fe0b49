internal import FoundationEssentials
internal import HTTPTypes
internal import VaultHTTP
internal import VaultJSON

extension OpenIDProvider {
    /// Registers a client (RFC 7591, OpenID Connect Dynamic Client Registration 1.0). The client ID of this object is not
    /// used and may be empty.
    ///
    /// The client asks for no secret (`token_endpoint_auth_method` `none`), for refresh tokens, and for the device code
    /// where the provider knows that.
    ///
    /// - Parameter initialAccessToken: for a provider that lets only those register who have one.
    /// - Returns: the client, to be stored and reused: every call makes another one.
    /// - Throws: ``OpenIDConnectError``: `unsupported` when the provider registers nobody, `refused` (with status 401 or
    ///   403 when it wants an initial access token), `invalidAnswer`, `unavailable`, `cancelled`.
    public func registerClient(
        _ client: ClientMetadata, initialAccessToken: String? = nil
    ) async throws -> RegisteredClient {
        guard !client.redirectURIs.isEmpty, client.redirectURIs.allSatisfy(Self.isUsable(redirectURI:)) else {
            throw OpenIDConnectError(.configurationInvalid, "the redirect URI is not usable")
        }
        let metadata = try await completeMetadata()
        guard let url = metadata.registrationEndpoint else {
            throw OpenIDConnectError(.unsupported, "registering clients")
        }
        var fields: HTTPFields = [:]
        if let initialAccessToken { fields[.authorization] = "Bearer " + initialAccessToken }
        let answer = try await connection.post(url, json: Self.request(client, metadata: metadata), fields: fields)
        // 201, but some say 200.
        guard (200..<300).contains(answer.status.code) else {
            throw ProviderConnection.outage(answer.status.code) ?? ProviderConnection.refusal(answer)
        }
        guard let json = JSONValue(objectIn: answer.body) else {
            throw OpenIDConnectError(
                .invalidAnswer, "the registration is not JSON", status: answer.status.code, mayHaveBeenProcessed: true)
        }
        return try Self.registered(json, asked: client, status: answer.status.code)
    }

    private static func request(_ client: ClientMetadata, metadata: ProviderMetadata) -> JSONValue {
        func list(_ texts: [String]) -> JSONValue { .array(texts.map(JSONValue.string)) }
        var members = metadata.registrationMembers
        members["client_name"] = .string(client.name)
        members["redirect_uris"] = list(client.redirectURIs)
        members["application_type"] = .string("native")
        members["response_types"] = list(["code"])
        members["grant_types"] = list(metadata.grantTypesToRegister)
        members["token_endpoint_auth_method"] = .string("none")
        if !client.postLogoutRedirectURIs.isEmpty {
            members["post_logout_redirect_uris"] = list(client.postLogoutRedirectURIs)
        }
        if !client.scopes.isEmpty { members["scope"] = .string(client.scopes.joined(separator: " ")) }
        return .object(members)
    }

    private static func registered(_ json: JSONValue, asked: ClientMetadata, status: Int) throws -> RegisteredClient {
        func text(_ name: String) -> String? {
            guard let text = json[name]?.string, !text.isEmpty, text.utf8.allSatisfy({ (0x20...0x7E).contains($0) })
            else { return nil }
            return text
        }
        guard let clientID = text("client_id") else {
            throw OpenIDConnectError(
                .invalidAnswer, "the registration has no client ID", status: status, mayHaveBeenProcessed: true)
        }
        let method = text("token_endpoint_auth_method")
        // Some give a secret even to a client that is to use none.
        let secret = method == "none" ? nil : text("client_secret")
        // 0 means never.
        let expiry = json["client_secret_expires_at"]?.number.flatMap { $0 > 0 ? Date(timeIntervalSince1970: $0) : nil }
        let managementURI = text("registration_client_uri").flatMap { EndpointURL.isAllowed($0) ? $0 : nil }
        return RegisteredClient(
            clientID: clientID, clientSecret: secret, secretExpiresAt: secret == nil ? nil : expiry,
            tokenEndpointAuthMethod: method, redirectURIs: json["redirect_uris"]?.strings ?? asked.redirectURIs,
            registrationClientURI: managementURI,
            registrationAccessToken: managementURI == nil ? nil : text("registration_access_token"))
    }
}
