/// What an OAuth client has to know about a server (RFC 8414, RFC 9207): where it is called, and what it can.
///
/// An OpenID provider says so itself, in its ``ProviderMetadata``. Of other servers it is a setting.
package protocol AuthorizationServer: Sendable {
    /// Names the server. Addresses that it gives out may be plain `http` only if this one is.
    var issuer: String { get }
    /// Where the browser goes to sign in.
    var authorizationEndpoint: String { get }
    /// Where codes and refresh tokens become tokens.
    var tokenEndpoint: String { get }
    /// Where tokens are revoked (RFC 7009), if the server can.
    var revocationEndpoint: String? { get }
    /// Where a device without a browser gets its codes (RFC 8628), if the server can.
    var deviceAuthorizationEndpoint: String? { get }
    /// Where the parameters of a sign-in are handed in beforehand (RFC 9126), if the server can.
    var pushedAuthorizationRequestEndpoint: String? { get }
    /// Whether a sign-in works only with parameters that were handed in beforehand.
    var requirePushedAuthorizationRequests: Bool { get }
    /// How clients may say who they are; nil when the server does not say.
    var tokenEndpointAuthMethodsSupported: [String]? { get }
    /// Whether every redirect carries `iss` (RFC 9207).
    var authorizationResponseIssParameterSupported: Bool { get }
    /// Where the tokens are in an answer of the token endpoint.
    var tokenFields: TokenAnswer.Fields { get }
    /// Whether a refusal without any text (status 400) says that the grant is dead, as some providers do.
    var refusesDeadGrantsSilently: Bool { get }
    /// Where the server differs from the standards; nil for nowhere.
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
