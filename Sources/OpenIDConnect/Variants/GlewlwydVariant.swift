internal import VaultBase

/// Glewlwyd 2's differences from the standards.
///
/// - Public clients cannot use its revocation endpoint: that wants a confidential client, or an access token with a
///   scope of the administrator's choice. Instead the token endpoint takes the grant type `delete_token`, with the
///   refresh token and the client ID. The client must be allowed this grant. The answer is 200 with an empty body.
/// - Its answer to a dead refresh token is the error `invalid_request`, or a status 400 without a body.
/// - Its metadata lists grants among the response types, and neither `refresh_token` nor `delete_token` among the grants.
/// - Its registration endpoint calls the device code's grant `device_authorization`, and refuses the standard name. It
///   makes every client confidential, also one with `token_endpoint_auth_method` `none`, unless its own member says no.
struct GlewlwydVariant: ProviderVariant {
    /// Only Glewlwyd has the response type `refresh_token`.
    func isMake(of metadata: ProviderMetadata) -> Bool {
        metadata.responseTypesSupported?.contains("refresh_token") == true
    }

    func meaning(of error: String?, to grant: OAuthClient.Grant) -> OpenIDConnectError.Code? {
        if case .refreshToken = grant, error == "invalid_request" { .invalidGrant } else { nil }
    }

    var refusesDeadGrantsSilently: Bool { true }

    var registrationMembers: [String: JSONValue] { ["client_confidential": .bool(false)] }

    func grantTypes(toRegister standard: [String]) -> [String] {
        standard.map { $0 == DeviceAuthorization.grantType ? "device_authorization" : $0 } + ["delete_token"]
    }

    func deletion(of refreshToken: String) -> ProviderConnection.Form? {
        [("grant_type", "delete_token"), ("refresh_token", refreshToken)]
    }
}
