import Crypto
import Foundation

/// A client's DPoP key (RFC 9449), and proofs with it, right ones and wrong ones.
struct ProofKey {
    private let key = P256.Signing.PrivateKey()

    private var publicKey: [String: String] {
        let point = key.publicKey.rawRepresentation
        return [
            "kty": "EC", "crv": "P-256", "x": Self.encoded(point.prefix(32)), "y": Self.encoded(point.suffix(32)),
        ]
    }

    /// RFC 7638.
    var thumbprint: String {
        let json = #"{"crv":"P-256","kty":"EC","x":"\#(publicKey["x"] ?? "")","y":"\#(publicKey["y"] ?? "")"}"#
        return Self.encoded(Data(SHA256.hash(data: Data(json.utf8))))
    }

    /// A proof.
    /// - Parameters:
    ///   - changes: Claims to set, or with nil to leave out.
    ///   - header: Members of the header to set, likewise.
    func proof(
        _ method: String, _ url: String, token: String? = nil, nonce: String? = nil,
        changes: [String: Any?] = [:], header: [String: Any?] = [:]
    ) throws -> String {
        var claims: [String: Any?] = [
            "jti": UUID().uuidString, "htm": method, "htu": url, "iat": Int(Date().timeIntervalSince1970),
        ]
        if let token { claims["ath"] = Self.encoded(Data(SHA256.hash(data: Data(token.utf8)))) }
        if let nonce { claims["nonce"] = nonce }
        claims.merge(changes) { $1 }
        var members: [String: Any?] = ["typ": "dpop+jwt", "alg": "ES256", "jwk": publicKey]
        members.merge(header) { $1 }
        let parts = try [members, claims].map {
            Self.encoded(try JSONSerialization.data(withJSONObject: $0.compactMapValues { $0 }))
        }
        let signed = parts.joined(separator: ".")
        return "\(signed).\(Self.encoded(try key.signature(for: Data(signed.utf8)).rawRepresentation))"
    }

    /// The public key together with the private one, as a careless client would send it.
    var privateKey: [String: String] { publicKey.merging(["d": Self.encoded(key.rawRepresentation)]) { $1 } }

    static func encoded(_ bytes: some DataProtocol) -> String {
        Data(bytes).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }
}
