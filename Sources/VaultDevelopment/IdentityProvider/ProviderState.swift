internal import Crypto
internal import FoundationEssentials
internal import VaultBase

/// The state of a provider, which recognises its tokens after a restart.
struct ProviderState: Codable {
    /// All refresh tokens of one login. Only the newest generation is valid.
    struct Family: Codable {
        var username: String
        /// The client ID; nil for the configured client.
        var clientID: String?
        var scope: [String]
        /// The time of the login, in seconds since 1970.
        var authenticatedAt: Int
        var generation: UInt64
        /// The key that its tokens need (RFC 9449); nil for none.
        var keyThumbprint: String?
    }

    struct SigningKey: Codable {
        var keyID: String
        var privateKey: Data
    }

    var version = 1
    /// The key that authenticates tokens.
    var tokenKey: Data
    /// The signing keys, newest first. The first key signs, the others still verify.
    var signingKeys: [SigningKey]
    /// The families that are not revoked.
    var families: [UUID: Family] = [:]
    /// The number of times that all access tokens were made invalid.
    var accessEpoch: UInt64 = 0
    /// The clients that registered themselves.
    var clients: [String: Client] = [:]

    init() {
        tokenKey = Data(randomBytes(32))
        signingKeys = [SigningKey()]
    }
}

extension ProviderState.SigningKey {
    init() {
        keyID = Base64URL.encode(randomBytes(8))
        privateKey = P256.Signing.PrivateKey().rawRepresentation
    }
}
