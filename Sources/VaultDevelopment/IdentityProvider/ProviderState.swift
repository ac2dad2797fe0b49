internal import Crypto
internal import FoundationEssentials

/// What a provider must remember to recognise its own tokens after a restart.
struct ProviderState: Codable {
    /// All refresh tokens that came from one login. Only the newest generation is valid.
    struct Family: Codable {
        var username: String
        /// nil for the configured client.
        var clientID: String?
        var scope: [String]
        /// When the person logged in, in seconds since 1970.
        var authenticatedAt: Int
        var generation: UInt64
        /// The key that its tokens need (RFC 9449); nil when they need none.
        var keyThumbprint: String?
    }

    struct SigningKey: Codable {
        var keyID: String
        var privateKey: Data
    }

    var version = 1
    /// What tokens are authenticated with.
    var tokenKey: Data
    /// Newest first; the first one signs, the others still verify.
    var signingKeys: [SigningKey]
    /// Those that are not revoked.
    var families: [UUID: Family] = [:]
    /// How often all access tokens were made invalid.
    var accessEpoch: UInt64 = 0
    /// Those that registered themselves.
    var clients: [String: Client] = [:]

    init() {
        tokenKey = Data(randomBytes(32))
        signingKeys = [SigningKey()]
    }

    /// Reads a stored state; one of an earlier version may lack the last members.
    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        version = try container.decode(Int.self, forKey: .version)
        tokenKey = try container.decode(Data.self, forKey: .tokenKey)
        signingKeys = try container.decode([SigningKey].self, forKey: .signingKeys)
        families = try container.decode([UUID: Family].self, forKey: .families)
        accessEpoch = try container.decodeIfPresent(UInt64.self, forKey: .accessEpoch) ?? 0
        clients = try container.decodeIfPresent([String: Client].self, forKey: .clients) ?? [:]
    }
}

extension ProviderState.SigningKey {
    init() {
        keyID = base64URL(randomBytes(8))
        privateKey = P256.Signing.PrivateKey().rawRepresentation
    }
}
