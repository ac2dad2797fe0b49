/// The facts that an OAuth client needs about a server: its addresses and abilities (RFC 8414, RFC 9207).
///
/// An OpenID provider publishes them in its ``ProviderMetadata``. For other servers they are settings.
package protocol AuthorizationServer: Sendable {
    /// The identifier of the server. The server's addresses may be plain `http` only if this one is.
    var issuer: String { get }
    /// The address for signing in with the browser.
    var authorizationEndpoint: String { get }
    /// The address that exchanges codes and refresh tokens for tokens.
    var tokenEndpoint: String { get }
    /// The address for revoking tokens (RFC 7009); nil if there is none.
    var revocationEndpoint: String? { get }
    /// The address that gives codes to devices without a browser (RFC 8628); nil if there is none.
    var deviceAuthorizationEndpoint: String? { get }
    /// The address for pushing the parameters of a sign-in before the browser opens (RFC 9126); nil if there is none.
    var pushedAuthorizationRequestEndpoint: String? { get }
    /// Whether a sign-in works only with pushed parameters.
    var requirePushedAuthorizationRequests: Bool { get }
    /// The methods of client authentication; nil if the server does not list them.
    var tokenEndpointAuthMethodsSupported: [String]? { get }
    /// Whether every redirect carries `iss` (RFC 9207).
    var authorizationResponseIssParameterSupported: Bool { get }
    /// The places of the tokens in an answer of the token endpoint.
    var tokenFields: TokenAnswer.Fields { get }
    /// Whether a status 400 without any text means that the grant is dead, as at some providers.
    var refusesDeadGrantsSilently: Bool { get }
    /// The server's differences from the standards; nil for none.
    var variant: (any ProviderVariant)? { get }
}

extension AuthorizationServer {
    package var deviceAuthorizationEndpoint: String? { nil }
    package var pushedAuthorizationRequestEndpoint: String? { nil }
    package var requirePushedAuthorizationRequests: Bool { false }
    package var authorizationResponseIssParameterSupported: Bool { false }
    package var tokenFields: TokenAnswer.Fields { .init() }
    package var refusesDeadGrantsSilently: Bool { true }
    package var variant: (any ProviderVariant)? { nil }
}
