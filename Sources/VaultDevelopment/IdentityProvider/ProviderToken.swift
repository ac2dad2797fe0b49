internal import Crypto
internal import FoundationEssentials
internal import VaultBase

/// The content of a token, which only the provider can read. Clients see 88 random-looking characters.
///
/// The provider keeps no list of tokens. A token names its family (all tokens of one login) and carries an HMAC-SHA256
/// under the provider's own key. So the provider recognises any number of old generations.
struct ProviderToken {
    enum Kind: UInt8 {
        case access = 1
        case refresh = 2
        /// An access token that needs a proof of its login's key (RFC 9449).
        case boundAccess = 3
        /// An access token for one resource server. It counts only inside a signed token (RFC 9068).
        case restrictedAccess = 4
    }

    let kind: Kind
    let family: UUID
    /// The generation of a refresh token, or epoch and expiry of an access token.
    let number: UInt64

    private static let salt = 9
    private static let payload = 1 + 16 + 8 + salt

    /// Returns the token as text. Each call gives a different text.
    func encoded(under key: SymmetricKey) -> String {
        var bytes = Data([kind.rawValue])
        withUnsafeBytes(of: family.uuid) { bytes.append(contentsOf: $0) }
        withUnsafeBytes(of: number.bigEndian) { bytes.append(contentsOf: $0) }
        bytes.append(contentsOf: randomBytes(Self.salt))
        bytes.append(contentsOf: HMAC<SHA256>.authenticationCode(for: bytes, using: key))
        return Base64URL.encode(bytes)
    }

    private init(kind: Kind, family: UUID, number: UInt64) {
        self.kind = kind
        self.family = family
        self.number = number
    }

    static func refresh(_ family: UUID, generation: UInt64) -> ProviderToken {
        ProviderToken(kind: .refresh, family: family, number: generation)
    }

    /// - Parameters:
    ///   - expiry: The expiry time in seconds since 1970.
    ///   - epoch: The number of times that all access tokens were made invalid before.
    ///   - kind: The kind of access token.
    static func access(_ family: UUID, expiry: Int, epoch: UInt64, _ kind: Kind) -> ProviderToken {
        ProviderToken(kind: kind, family: family, number: epoch << 40 | UInt64(max(0, expiry)))
    }

    /// The expiry time of an access token, in seconds since 1970.
    var expiry: Int { Int(number & 0xff_ffff_ffff) }
    var epoch: UInt64 { number >> 40 }

    /// Reads a token of this provider. Nil for anything else.
    init?(_ text: String, under key: SymmetricKey) {
        guard let bytes = Base64URL.decode(text), bytes.count == Self.payload + SHA256.byteCount,
            HMAC<SHA256>.isValidAuthenticationCode(
                bytes.suffix(SHA256.byteCount), authenticating: bytes.prefix(Self.payload), using: key),
            let kind = Kind(rawValue: bytes[0])
        else { return nil }
        self.kind = kind
        family = bytes[1..<17].withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
        number = bytes[17..<25].reduce(0) { $0 << 8 | UInt64($1) }
    }
}

/// Returns the claim `sub` of a user: a UUID from a hash of the username (RFC 9562 section 5.8).
func subjectIdentifier(username: String) -> String {
    var bytes = Array(SHA256.hash(data: Data("credential-vault/development-subject/\(username)".utf8)).prefix(16))
    bytes[6] = bytes[6] & 0x0f | 0x80
    bytes[8] = bytes[8] & 0x3f | 0x80
    return bytes.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }.uuidString.lowercased()
}
