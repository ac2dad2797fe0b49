internal import VaultBase

/// The metadata that a provider publishes (OpenID Connect Discovery 1.0 section 3, RFC 8414, RFC 9207).
///
/// URLs are kept as the provider wrote them. All are `https:`, or `http:` to this machine if the issuer is such a URL.
/// Other URLs are left out.
public struct ProviderMetadata: Codable, Sendable, Hashable {
    /// The issuer identifier; equals the configured one.
    public var issuer: String
    /// The address for signing in with the browser.
    public var authorizationEndpoint: String
    /// The address that exchanges codes and refresh tokens for tokens.
    public var tokenEndpoint: String
    /// The address of the keys that verify ID tokens.
    public var jwksURI: String
    /// The address for revoking tokens (RFC 7009); nil if there is none.
    public var revocationEndpoint: String?
    /// The address for checking tokens (RFC 7662); nil if there is none.
    public var introspectionEndpoint: String?
    /// The address for claims about the person; nil if there is none.
    public var userinfoEndpoint: String?
    /// The address for signing out with the browser; nil if there is none.
    public var endSessionEndpoint: String?
    /// PKCE methods (RFC 7636); nil when the provider does not say.
    public var codeChallengeMethodsSupported: [String]?
    /// Algorithms that sign ID tokens; nil when the provider does not say.
    public var idTokenSigningAlgValuesSupported: [String]?
    /// Scopes; nil when the provider does not say.
    public var scopesSupported: [String]?
    /// The address that gives codes to devices without a browser (RFC 8628); nil if there is none.
    public var deviceAuthorizationEndpoint: String?
    /// The address for registering clients (RFC 7591); nil if there is none.
    public var registrationEndpoint: String?
    /// The address for pushing the parameters of a sign-in before the browser opens (RFC 9126); nil if there is none.
    public var pushedAuthorizationRequestEndpoint: String?
    /// Whether a sign-in works only with pushed parameters. False if the provider does not say.
    public var requirePushedAuthorizationRequests: Bool
    /// Algorithms for proofs of possession (RFC 9449); nil when the provider has none.
    public var dpopSigningAlgValuesSupported: [String]?
    /// Grant types; nil when the provider does not say.
    public var grantTypesSupported: [String]?
    /// Response types; nil when the provider does not say.
    public var responseTypesSupported: [String]?
    /// The methods of client authentication at the token endpoint; nil if the provider does not say.
    public var tokenEndpointAuthMethodsSupported: [String]?
    /// Whether every redirect carries `iss` (RFC 9207). False when the provider does not say.
    public var authorizationResponseIssParameterSupported: Bool

    enum CodingKeys: String, CodingKey, CaseIterable {
        case issuer
        case authorizationEndpoint = "authorization_endpoint"
        case tokenEndpoint = "token_endpoint"
        case jwksURI = "jwks_uri"
        case revocationEndpoint = "revocation_endpoint"
        case introspectionEndpoint = "introspection_endpoint"
        case userinfoEndpoint = "userinfo_endpoint"
        case endSessionEndpoint = "end_session_endpoint"
        case codeChallengeMethodsSupported = "code_challenge_methods_supported"
        case idTokenSigningAlgValuesSupported = "id_token_signing_alg_values_supported"
        case scopesSupported = "scopes_supported"
        case deviceAuthorizationEndpoint = "device_authorization_endpoint"
        case registrationEndpoint = "registration_endpoint"
        case pushedAuthorizationRequestEndpoint = "pushed_authorization_request_endpoint"
        case requirePushedAuthorizationRequests = "require_pushed_authorization_requests"
        case dpopSigningAlgValuesSupported = "dpop_signing_alg_values_supported"
        case grantTypesSupported = "grant_types_supported"
        case responseTypesSupported = "response_types_supported"
        case tokenEndpointAuthMethodsSupported = "token_endpoint_auth_methods_supported"
        case authorizationResponseIssParameterSupported = "authorization_response_iss_parameter_supported"
    }

    init(document: JSONValue, issuer: String) throws {
        guard let named = document["issuer"]?.string else {
            throw OpenIDConnectError(.invalidAnswer, "the provider's metadata has no issuer")
        }
        guard named == issuer else {
            let differsBySlash = named == issuer + "/" || named + "/" == issuer
            throw OpenIDConnectError(
                .invalidAnswer,
                "the provider's metadata names another issuer, "
                    + (differsBySlash
                        ? "by a slash at the end" : String(named.prefix(200).filter { $0.isASCII && !$0.isWhitespace }))
            )
        }
        // A bad address of an optional endpoint is left out, as the sign-in works without it.
        func url(_ key: CodingKeys) -> String? {
            document[key.rawValue]?.string.flatMap { EndpointURL.isAllowed($0, by: issuer) ? $0 : nil }
        }
        func required(_ key: CodingKeys) throws -> String {
            guard document[key.rawValue] != nil else {
                throw OpenIDConnectError(.invalidAnswer, "the provider's metadata has no \(key.rawValue)")
            }
            guard let url = url(key) else {
                throw OpenIDConnectError(.invalidAnswer, "\(key.rawValue) is not an https URL")
            }
            return url
        }
        self.issuer = issuer
        authorizationEndpoint = try required(.authorizationEndpoint)
        tokenEndpoint = try required(.tokenEndpoint)
        jwksURI = try required(.jwksURI)
        revocationEndpoint = url(.revocationEndpoint)
        introspectionEndpoint = url(.introspectionEndpoint)
        userinfoEndpoint = url(.userinfoEndpoint)
        endSessionEndpoint = url(.endSessionEndpoint)
        deviceAuthorizationEndpoint = url(.deviceAuthorizationEndpoint)
        registrationEndpoint = url(.registrationEndpoint)
        pushedAuthorizationRequestEndpoint = url(.pushedAuthorizationRequestEndpoint)

        func list(_ key: CodingKeys) -> [String]? { document[key.rawValue]?.strings }
        codeChallengeMethodsSupported = list(.codeChallengeMethodsSupported)
        idTokenSigningAlgValuesSupported = list(.idTokenSigningAlgValuesSupported)
        scopesSupported = list(.scopesSupported)
        dpopSigningAlgValuesSupported = list(.dpopSigningAlgValuesSupported)
        grantTypesSupported = list(.grantTypesSupported)
        responseTypesSupported = list(.responseTypesSupported)
        tokenEndpointAuthMethodsSupported = list(.tokenEndpointAuthMethodsSupported)

        func flag(_ key: CodingKeys) -> Bool { document[key.rawValue]?.bool ?? false }
        requirePushedAuthorizationRequests = flag(.requirePushedAuthorizationRequests)
        authorizationResponseIssParameterSupported = flag(.authorizationResponseIssParameterSupported)
    }
}
