internal import VaultJSON

/// Where Glewlwyd 2 differs from the standards.
///
/// - Its revocation endpoint wants a confidential client, or an access token with a scope that its administrator chose:
///   a public client cannot use it. Instead its token endpoint takes the grant type `delete_token`, with the refresh
///   token and the client ID, from any client that is allowed this grant; it answers 200 with an empty body. No more
///   than the refresh token itself is needed, and it goes where it goes at every refresh.
/// - Of a dead refresh token it says `invalid_request`.
/// - Its metadata lists grants among the response types, and neither `refresh_token` nor `delete_token` among the grants.
/// - Its registration endpoint calls the device code's grant `device_authorization`, and refuses the standard name. It
///   takes a client for a confidential one, whatever its `token_endpoint_auth_method`, unless its own member says no.
struct GlewlwydVariant: ProviderVariant {
    /// Nobody else has the response type `refresh_token`.
    func isMake(of metadata: ProviderMetadata) -> Bool {
        metadata.responseTypesSupported?.contains("refresh_token") == true
    }

    func meaning(of error: String?, to grant: OAuthClient.Grant) -> OpenIDConnectError.Code? {
        if case .refreshToken = grant, error == "invalid_request" { .invalidGrant } else { nil }
    }

    var registrationMembers: [String: JSONValue] { ["client_confidential": .bool(false)] }

    func grantTypes(toRegister standard: [String]) -> [String] {
        standard.map { $0 == DeviceAuthorization.grantType ? "device_authorization" : $0 } + ["delete_token"]
    }

    func deletion(of refreshToken: String) -> ProviderConnection.Form? {
        [("grant_type", "delete_token"), ("refresh_token", refreshToken)]
    }
}
