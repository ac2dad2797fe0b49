internal import Crypto
internal import FoundationEssentials
internal import VaultBase

/// A JSON Web Token in compact form (RFC 7515 section 7.1), taken apart but not verified.
struct CompactJWT {
    struct Header: Decodable {
        var alg: String
        var typ: String?
        var kid: String?
    }

    let header: Header
    let headerJSON: Data
    let payload: Data
    private let signed: Data
    private let signature: Data

    /// Takes `text` apart. Nil if it is not such a token.
    init?(_ text: String) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let headerJSON = Base64URL.decode(parts[0]), let payload = Base64URL.decode(parts[1]),
            let signature = Base64URL.decode(parts[2]),
            let header = try? JSONDecoder().decode(Header.self, from: Data(headerJSON))
        else { return nil }
        self.header = header
        self.headerJSON = Data(headerJSON)
        self.payload = Data(payload)
        self.signature = Data(signature)
        signed = Data("\(parts[0]).\(parts[1])".utf8)
    }

    /// Whether this key made its ES256 signature (RFC 7518 section 3.4).
    func isSigned(by key: P256.Signing.PublicKey) -> Bool {
        guard let signature = try? P256.Signing.ECDSASignature(rawRepresentation: signature) else { return false }
        return key.isValidSignature(signature, for: signed)
    }
}
