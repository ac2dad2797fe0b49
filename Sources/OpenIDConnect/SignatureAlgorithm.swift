internal import Crypto
internal import FoundationEssentials
internal import VaultBase

/// The signature algorithms that an ID token may use (RFC 7518 section 3.1, RFC 8037). Never `none`, never a shared
/// secret.
enum SignatureAlgorithm: String, CaseIterable, Sendable {
    case rs256 = "RS256"
    case rs384 = "RS384"
    case rs512 = "RS512"
    case ps256 = "PS256"
    case ps384 = "PS384"
    case ps512 = "PS512"
    case es256 = "ES256"
    case es384 = "ES384"
    case es512 = "ES512"
    case eddsa = "EdDSA"

    /// The key type (`kty`) it needs.
    var keyType: String {
        switch self {
        case .rs256, .rs384, .rs512, .ps256, .ps384, .ps512: "RSA"
        case .es256, .es384, .es512: "EC"
        case .eddsa: "OKP"
        }
    }

    /// The curve (`crv`) it needs, and the length of a coordinate in bytes.
    var curve: (name: String, coordinateBytes: Int)? {
        switch self {
        case .es256: ("P-256", 32)
        case .es384: ("P-384", 48)
        case .es512: ("P-521", 66)
        case .eddsa: ("Ed25519", 32)
        default: nil
        }
    }

    /// Returns the left half of the hash of an access token, for `at_hash` (OpenID Connect Core section 3.1.3.6).
    func halfHash(of accessToken: String) -> String {
        let data = Data(accessToken.utf8)
        let hash: [UInt8] =
            switch self {
            case .rs256, .ps256, .es256: Array(SHA256.hash(data: data))
            case .rs384, .ps384, .es384: Array(SHA384.hash(data: data))
            // Ed25519 hashes with SHA-512.
            case .rs512, .ps512, .es512, .eddsa: Array(SHA512.hash(data: data))
            }
        return Base64URL.encode(hash.prefix(hash.count / 2))
    }
}
