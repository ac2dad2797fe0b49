internal import VaultJSON

/// Where Glewlwyd 2 differs from the standards.
///
/// - Its revocation endpoint wants a confidential client, or an access token with a scope that its administrator chose:
///   a public client cannot use it. Instead its token endpoint takes the grant type `delete_token`, with the refresh
///   token and the client ID, from any client that is allowed this grant; it answers 200 with an empty body. No more
///   than the refresh token itself is needed, and it goes where it goes at every refresh.
/// - Its metadata lists grants among the response types, and neither `refresh_token` nor `delete_token` among the grants.
/// - Its registration endpoint calls the device code's grant `device_authorization`, and refuses the standard name. It
///   takes a client for a confidential one, whatever its `token_endpoint_auth_method`, unless its own member says no.
extension ProviderMetadata {
    /// Whether the provider is a Glewlwyd: nobody else has the response type `refresh_token`.
    var isGlewlwyd: Bool { responseTypesSupported?.contains("refresh_token") == true }

    /// Members of its own that a registration needs.
    var registrationMembers: [String: JSONValue] { isGlewlwyd ? ["client_confidential": .bool(false)] : [:] }

    /// The grant types that a client asks for when it registers.
    var grantTypesToRegister: [String] {
        let hasDeviceCode =
            deviceAuthorizationEndpoint != nil && grantTypesSupported?.contains(DeviceAuthorization.grantType) == true
        var types = ["authorization_code", "refresh_token"]
        if hasDeviceCode { types.append(isGlewlwyd ? "device_authorization" : DeviceAuthorization.grantType) }
        if isGlewlwyd { types.append("delete_token") }
        return types
    }
}
