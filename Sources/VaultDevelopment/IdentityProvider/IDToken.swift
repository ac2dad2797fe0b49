internal import Crypto
internal import FoundationEssentials
internal import JWTKit
internal import VaultBase

/// The claims of an ID token (OpenID Connect Core 1.0 section 2), and of the UserInfo answer with fewer claims.
struct IDTokenClaims: JWTPayload {
    var iss: String?
    var sub: String
    var aud: String?
    var exp: Int?
    var iat: Int?
    var authTime: Int?
    var nonce: String?
    var atHash: String?
    var email: String?
    var emailVerified: Bool?
    var preferredUsername: String?
    var name: String?

    private enum CodingKeys: String, CodingKey {
        case iss, sub, aud, exp, iat, nonce, email, name
        case authTime = "auth_time"
        case atHash = "at_hash"
        case emailVerified = "email_verified"
        case preferredUsername = "preferred_username"
    }

    /// Makes the claims that the granted scopes allow (section 5.4).
    init(user: DevelopmentIdentityProvider.User, scope: [String]) {
        sub = user.subject
        if scope.contains("email") {
            email = user.email
            emailVerified = true
        }
        if scope.contains("profile") {
            preferredUsername = user.username
            name = user.name
        }
    }

    /// Returns the left half of the access token's hash (section 3.1.3.6).
    static func accessTokenHash(_ accessToken: String) -> String {
        Base64URL.encode(Array(SHA256.hash(data: Data(accessToken.utf8)).prefix(16)))
    }

    /// Does nothing, as the provider only signs.
    func verify(using algorithm: some JWTAlgorithm) async throws {}
}

struct IDTokenSigner {
    private let keys = JWTKeyCollection()
    private let keyID: JWKIdentifier

    init(_ key: ProviderState.SigningKey) async throws {
        keyID = JWKIdentifier(string: key.keyID)
        let privateKey = try P256.Signing.PrivateKey(rawRepresentation: key.privateKey)
        await keys.add(ecdsa: try ES256PrivateKey(backing: privateKey), kid: keyID)
    }

    func sign(_ claims: IDTokenClaims) async throws -> String { try await keys.sign(claims, kid: keyID) }

    func sign(_ claims: AccessTokenClaims) async throws -> String {
        try await keys.sign(claims, kid: keyID, header: ["typ": "at+jwt"])
    }
}

/// The JSON Web Key Set of the provider (RFC 7517 section 5, RFC 7518 section 6.2.1).
struct KeySet: Encodable {
    struct Key: Encodable {
        var kty = "EC"
        var crv = "P-256"
        var use = "sig"
        var alg = "ES256"
        var kid: String
        var x: String
        var y: String
    }

    var keys: [Key]

    init(_ signingKeys: [ProviderState.SigningKey]) throws {
        keys = try signingKeys.map {
            let point = try P256.Signing.PrivateKey(rawRepresentation: $0.privateKey).publicKey.rawRepresentation
            return Key(kid: $0.keyID, x: Base64URL.encode(point.prefix(32)), y: Base64URL.encode(point.suffix(32)))
        }
    }
}
