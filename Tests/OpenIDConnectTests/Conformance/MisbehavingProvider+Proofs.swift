import Crypto
import Foundation
import HTTPTypes
import VaultBase
import VaultHTTP

/// Checks of proofs of possession (RFC 9449 section 4.3), without any code of the client.
extension MisbehavingProvider.State {
    enum ProofResult {
        /// With the thumbprint of the key.
        case proved(String)
        case refused(HTTPAnswer)
    }

    static let nonceField = HTTPField.Name("DPoP-Nonce")!

    mutating func checkProof(_ request: LoopbackServer.Request, at now: Date, accessToken: String?) -> ProofResult {
        guard let proof = request.field("DPoP") else { return .refused(refusal("invalid_dpop_proof")) }
        let parts = proof.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let header = JSONValue(strictObjectIn: Base64URL.decode(parts[0]) ?? []),
            let claims = JSONValue(strictObjectIn: Base64URL.decode(parts[1]) ?? []),
            header["typ"]?.string == "dpop+jwt", header["alg"]?.string == "ES256", let key = header["jwk"],
            key.member("d") == nil, let x = key["x"]?.string, let y = key["y"]?.string,
            let point = Base64URL.decode(x).flatMap({ x in Base64URL.decode(y).map { x + $0 } }),
            let publicKey = try? P256.Signing.PublicKey(rawRepresentation: point),
            let bytes = Base64URL.decode(parts[2]),
            let signature = try? P256.Signing.ECDSASignature(rawRepresentation: bytes),
            publicKey.isValidSignature(signature, for: Data("\(parts[0]).\(parts[1])".utf8)),
            claims["htm"]?.string == request.method,
            claims["htu"]?.string == origin + request.path,
            let issued = claims["iat"]?.number, abs(issued - now.timeIntervalSince1970) <= 60,
            let identifier = claims["jti"]?.string, identifier.utf8.count >= 16, proofs.insert(identifier).inserted,
            claims["ath"]?.string
                == accessToken.map({ Base64URL.encode(SHA256.hash(data: Data($0.utf8))) })
        else { return .refused(refusal("invalid_dpop_proof")) }
        if let nonce = features.proofNonce, claims["nonce"]?.string != nonce {
            var answer = refusal("use_dpop_nonce")
            answer.headerFields[Self.nonceField] = nonce
            return .refused(answer)
        }
        let canonical = #"{"crv":"P-256","kty":"EC","x":"\#(x)","y":"\#(y)"}"#
        return .proved(Base64URL.encode(SHA256.hash(data: Data(canonical.utf8))))
    }
}
