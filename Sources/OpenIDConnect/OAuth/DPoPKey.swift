internal import Crypto
public import FoundationEssentials
internal import VaultBase

/// A key that access and refresh tokens can be bound to (RFC 9449, ES256). Bound tokens are useless without it.
///
/// The key is a secret, and does not print itself.
public final class DPoPKey: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    private let key: P256.Signing.PrivateKey

    /// Makes a new key.
    public init() {
        key = P256.Signing.PrivateKey()
    }

    /// Restores a key.
    ///
    /// - Parameter rawRepresentation: the 32 bytes of ``rawRepresentation``.
    /// - Throws: ``OpenIDConnectError`` with code `configurationInvalid` if they are not a key.
    public init(rawRepresentation: [UInt8]) throws {
        do {
            key = try P256.Signing.PrivateKey(rawRepresentation: rawRepresentation)
        } catch {
            throw OpenIDConnectError(.configurationInvalid, "the key for proofs of possession is damaged")
        }
    }

    /// The private key: 32 secret bytes, to be stored sealed.
    public var rawRepresentation: [UInt8] { Array(key.rawRepresentation) }

    /// The SHA-256 thumbprint of the public key in base64url (RFC 7638), as in `dpop_jkt` and in a token's `jkt`.
    public var thumbprint: String { Self.thumbprint(of: publicKey) }

    /// Returns the thumbprint of a JWK that has the required members only, sorted by name and without spaces.
    static func thumbprint(of jwk: JSONValue) -> String {
        Base64URL.encode(SHA256.hash(data: jwk.encoded()))
    }

    /// Makes the proof for one request (RFC 9449 section 4.2), the value of its `DPoP` header field.
    ///
    /// - Parameters:
    ///   - method: the request's method.
    ///   - url: the request's URL; its query and fragment are left out.
    ///   - accessToken: the access token that goes with the request; nil at the token endpoint.
    ///   - nonce: the last `DPoP-Nonce` from the server; nil if there is none.
    ///   - now: the current time.
    /// - Throws: ``OpenIDConnectError`` with code `configurationInvalid` if the URL is not allowed.
    public func proof(
        method: String, url: String, accessToken: String?, nonce: String?, at now: Date
    ) throws -> String {
        let target = String(url.prefix { $0 != "?" && $0 != "#" })
        guard EndpointURL.isAllowed(target) else {
            throw OpenIDConnectError(.configurationInvalid, "the URL of the request is not https")
        }
        var claims: [String: JSONValue] = [
            "jti": .string(RandomText.make()), "htm": .string(method), "htu": .string(target),
            // One second ago: some servers refuse times in the future, and no two clocks agree exactly.
            "iat": .number(now.timeIntervalSince1970.rounded(.down) - 1),
        ]
        if let accessToken { claims["ath"] = .string(Self.hash(of: accessToken)) }
        if let nonce { claims["nonce"] = .string(nonce) }
        let header = JSONValue.object(["typ": .string("dpop+jwt"), "alg": .string("ES256"), "jwk": publicKey])
        let input = Base64URL.encode(header.encoded()) + "." + Base64URL.encode(JSONValue.object(claims).encoded())
        do {
            let signature = try key.signature(for: Data(input.utf8))
            return input + "." + Base64URL.encode(signature.rawRepresentation)
        } catch {
            throw OpenIDConnectError(.configurationInvalid, "the key for proofs of possession cannot sign")
        }
    }

    /// Returns the hash of an access token for a proof (`ath`).
    static func hash(of accessToken: String) -> String {
        Base64URL.encode(SHA256.hash(data: Data(accessToken.utf8)))
    }

    /// The public key as a JWK (RFC 7518 section 6.2.1).
    private var publicKey: JSONValue {
        let point = key.publicKey.rawRepresentation
        return .object([
            "crv": .string("P-256"), "kty": .string("EC"), "x": .string(Base64URL.encode(point.prefix(32))),
            "y": .string(Base64URL.encode(point.suffix(32))),
        ])
    }

    public var description: String { "DPoPKey" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: []) }
}
