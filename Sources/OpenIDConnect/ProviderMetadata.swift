internal import FoundationEssentials
internal import VaultHTTP

/// What a provider says about itself (OpenID Connect Discovery 1.0 section 3, RFC 8414, RFC 9207).
///
/// URLs are kept as the provider wrote them; all are `https:`, or `http:` to this machine.
public struct ProviderMetadata: Codable, Sendable, Hashable {
    /// The issuer identifier; equals the configured one.
    public var issuer: String
    /// Where the browser goes to sign in.
    public var authorizationEndpoint: String
    /// Where codes and refresh tokens become tokens.
    public var tokenEndpoint: String
    /// Where the keys lie that sign ID tokens.
    public var jwksURI: String
    /// Where tokens are revoked (RFC 7009), if the provider can.
    public var revocationEndpoint: String?
    /// Where claims about the user can be asked for.
    public var userinfoEndpoint: String?
    /// Where the browser goes to sign out.
    public var endSessionEndpoint: String?
    /// PKCE methods (RFC 7636); nil when the provider does not say.
    public var codeChallengeMethodsSupported: [String]?
    /// Algorithms that sign ID tokens; nil when the provider does not say.
    public var idTokenSigningAlgValuesSupported: [String]?
    /// Scopes; nil when the provider does not say.
    public var scopesSupported: [String]?
    /// Whether every redirect carries `iss` (RFC 9207). False when the provider does not say.
    public var authorizationResponseIssParameterSupported: Bool

    enum CodingKeys: String, CodingKey, CaseIterable {
        case issuer
        case authorizationEndpoint = "authorization_endpoint"
        case tokenEndpoint = "token_endpoint"
        case jwksURI = "jwks_uri"
        case revocationEndpoint = "revocation_endpoint"
        case userinfoEndpoint = "userinfo_endpoint"
        case endSessionEndpoint = "end_session_endpoint"
        case codeChallengeMethodsSupported = "code_challenge_methods_supported"
        case idTokenSigningAlgValuesSupported = "id_token_signing_alg_values_supported"
        case scopesSupported = "scopes_supported"
        case authorizationResponseIssParameterSupported = "authorization_response_iss_parameter_supported"
    }

    /// Reads a discovery document for the issuer it was asked for.
    init(document: JSONValue, issuer: String) throws {
        guard let named = document["issuer"]?.string else {
            throw OpenIDConnectError(.invalidAnswer, "the discovery document has no issuer")
        }
        guard named == issuer else {
            let differsBySlash = named == issuer + "/" || named + "/" == issuer
            throw OpenIDConnectError(
                .invalidAnswer,
                "the discovery document names another issuer" + (differsBySlash ? ", by a slash at the end" : ""))
        }
        func url(_ key: CodingKeys) throws -> String? {
            guard let value = document[key.rawValue] else { return nil }
            guard let url = value.string, EndpointURL.isAllowed(url) else {
                throw OpenIDConnectError(.invalidAnswer, "\(key.rawValue) is not an https URL")
            }
            return url
        }
        func required(_ key: CodingKeys) throws -> String {
            guard let url = try url(key) else {
                throw OpenIDConnectError(.invalidAnswer, "the discovery document has no \(key.rawValue)")
            }
            return url
        }
        self.issuer = issuer
        authorizationEndpoint = try required(.authorizationEndpoint)
        tokenEndpoint = try required(.tokenEndpoint)
        jwksURI = try required(.jwksURI)
        revocationEndpoint = try url(.revocationEndpoint)
        userinfoEndpoint = try url(.userinfoEndpoint)
        endSessionEndpoint = try url(.endSessionEndpoint)
        codeChallengeMethodsSupported = document[CodingKeys.codeChallengeMethodsSupported.rawValue]?.strings
        idTokenSigningAlgValuesSupported = document[CodingKeys.idTokenSigningAlgValuesSupported.rawValue]?.strings
        scopesSupported = document[CodingKeys.scopesSupported.rawValue]?.strings
        authorizationResponseIssParameterSupported =
            document[CodingKeys.authorizationResponseIssParameterSupported.rawValue]?.bool ?? false
    }
}

/// The rule for every URL of a provider.
enum EndpointURL {
    /// Whether `text` is an absolute `https:` URL, or `http:` to this machine, without user, password and fragment.
    static func isAllowed(_ text: String) -> Bool {
        guard text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }), text.utf8.count <= 2048,
            let url = URL(string: text), let host = url.host, !host.isEmpty, url.user == nil, url.password == nil,
            url.fragment == nil, let scheme = url.scheme?.lowercased()
        else { return false }
        return scheme == "https" || (scheme == "http" && LoopbackAddress.isLoopback(host: host))
    }
}
