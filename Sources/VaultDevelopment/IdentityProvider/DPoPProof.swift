internal import Crypto
internal import FoundationEssentials
internal import VaultBase

/// A proof that a client holds a key (RFC 9449 section 4.2). Only its signature is checked.
struct DPoPProof {
    struct Claims: Decodable {
        var jti: String
        var htm: String
        var htu: String
        var iat: Double
        var ath: String?
        var nonce: String?
    }

    private struct Header: Decodable {
        struct Key: Decodable {
            var kty: String
            var crv: String
            var x: String
            var y: String
            /// The private part, which a good client never sends.
            var d: String?
        }

        var jwk: Key
    }

    let claims: Claims
    /// The thumbprint of the signing key (RFC 7638).
    let thumbprint: String

    init(_ text: String) throws(OAuthError) {
        guard let token = CompactJWT(text), token.header.typ == "dpop+jwt", token.header.alg == "ES256" else {
            throw .invalidProof("It is not a JWT with typ dpop+jwt and alg ES256.")
        }
        guard let key = try? JSONDecoder().decode(Header.self, from: token.headerJSON).jwk, key.kty == "EC",
            key.crv == "P-256", key.d == nil, let x = Base64URL.decode(key.x), let y = Base64URL.decode(key.y),
            x.count == 32, y.count == 32,
            let publicKey = try? P256.Signing.PublicKey(x963Representation: [4] + x + y)
        else { throw .invalidProof("Its header has no public key of P-256.") }
        guard token.isSigned(by: publicKey) else { throw .invalidProof("Its signature is wrong.") }
        guard let claims = try? JSONDecoder().decode(Claims.self, from: token.payload), !claims.jti.isEmpty else {
            throw .invalidProof("jti, htm, htu or iat is missing.")
        }
        self.claims = claims
        thumbprint = Base64URL.encode(digest(#"{"crv":"P-256","kty":"EC","x":"\#(key.x)","y":"\#(key.y)"}"#))
    }
}

extension OAuthError {
    static func invalidProof(_ detail: String) -> OAuthError {
        .init("invalid_dpop_proof", "The DPoP proof is not valid. \(detail)")
    }
}
