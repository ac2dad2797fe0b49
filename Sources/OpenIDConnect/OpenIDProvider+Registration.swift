internal import VaultBase

extension OpenIDProvider {
    /// Registers a client (RFC 7591, OpenID Connect Dynamic Client Registration 1.0). The client ID of this object is
    /// ignored, and may be empty.
    ///
    /// The client asks for no secret (`token_endpoint_auth_method` `none`), for refresh tokens, and for the device code
    /// if the provider has it.
    ///
    /// - Parameters:
    ///   - client: the name and the redirect URIs of the client.
    ///   - initialAccessToken: a token for providers that register no client without it.
    /// - Returns: the client. Store it and use it again, as every call makes another one.
    /// - Throws: ``OpenIDConnectError``: `unsupported` if the provider registers no clients, `refused` (status 401 or
    ///   403: it wants an initial access token), `invalidAnswer`, `unavailable`, `cancelled`.
    public func registerClient(
        _ client: ClientMetadata, initialAccessToken: String? = nil
    ) async throws -> RegisteredClient {
        guard !client.redirectURIs.isEmpty, client.redirectURIs.allSatisfy(EndpointURL.isUsable(redirectURI:)) else {
            throw OpenIDConnectError(.configurationInvalid, "the redirect URI is not usable")
        }
        let metadata = try await completeMetadata()
        guard let url = metadata.registrationEndpoint else {
            throw OpenIDConnectError(.unsupported, "registering clients")
        }
        var details = metadata.variant?.registrationMembers ?? [:]
        details["application_type"] = .string("native")
        if !client.postLogoutRedirectURIs.isEmpty {
            details["post_logout_redirect_uris"] = .array(client.postLogoutRedirectURIs.map(JSONValue.string))
        }
        return try await connection.register(
            client, at: url, grantTypes: Self.grantTypes(metadata), details: .object(details),
            initialAccessToken: initialAccessToken)
    }

    private static func grantTypes(_ metadata: ProviderMetadata) -> [String] {
        let hasDeviceCode =
            metadata.deviceAuthorizationEndpoint != nil
            && metadata.grantTypesSupported?.contains(DeviceAuthorization.grantType) == true
        let types = ["authorization_code", "refresh_token"] + (hasDeviceCode ? [DeviceAuthorization.grantType] : [])
        return metadata.variant?.grantTypes(toRegister: types) ?? types
    }
}
