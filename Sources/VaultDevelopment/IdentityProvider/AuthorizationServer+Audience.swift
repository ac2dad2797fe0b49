internal import Crypto
internal import FoundationEssentials
internal import JWTKit

/// The claims of an access token for one resource server (RFC 9068 section 2.2).
struct AccessTokenClaims: JWTPayload {
    var iss: String
    var sub: String
    var aud: String
    var exp: Int
    var iat: Int
    /// The token behind the signed one, which counts only there.
    var jti: String
    var clientID: String
    var scope: String
    var authTime: Int
    var cnf: [String: String]?

    private enum CodingKeys: String, CodingKey {
        case iss, sub, aud, exp, iat, jti, scope, cnf
        case clientID = "client_id"
        case authTime = "auth_time"
    }

    /// Does nothing, as the provider only signs.
    func verify(using algorithm: some JWTAlgorithm) async throws {}
}

/// Access tokens for one resource server (RFC 8707). They are signed, so that the client can see the audience.
extension AuthorizationServer {
    /// Returns the access token for the resource of a request, around an opaque one; nil without a resource.
    func restricted(
        _ token: ProviderToken, _ grant: Grant, to user: DevelopmentIdentityProvider.User, now: Int
    ) async throws -> String? {
        guard let resource = grant.resource else { return nil }
        return try await sign(
            AccessTokenClaims(
                iss: issuer, sub: user.subject, aud: resource, exp: token.expiry, iat: now,
                jti: token.encoded(under: tokenKey), clientID: grant.client.identifier,
                scope: grant.scope.joined(separator: " "), authTime: grant.login.authenticatedAt,
                cnf: grant.login.keyThumbprint.map { ["jkt": $0] }))
    }

    /// Returns the token behind a signed access token of this provider; nil for any other text.
    ///
    /// - Parameter audience: The resource server that got the token.
    func inner(_ text: String, audience: String?) -> (token: ProviderToken, text: String)? {
        guard let audience, let signed = CompactJWT(text), signed.header.typ == "at+jwt", signed.header.alg == "ES256",
            let claims = try? JSONDecoder().decode(AccessTokenClaims.self, from: signed.payload),
            claims.aud == audience, let token = ProviderToken(claims.jti, under: tokenKey),
            token.kind == .restrictedAccess,
            state.signingKeys.contains(where: { key in
                (try? P256.Signing.PrivateKey(rawRepresentation: key.privateKey)).map {
                    signed.isSigned(by: $0.publicKey)
                } ?? false
            })
        else { return nil }
        return (token, claims.jti)
    }
}
