internal import Crypto
internal import FoundationEssentials

/// Returns random bytes of the operating system.
func randomBytes(_ count: Int) -> [UInt8] {
    SymmetricKey(size: .init(bitCount: count * 8)).withUnsafeBytes { Array($0) }
}

/// Returns an unguessable name for a running login, a code or a nonce: 256 bits.
func randomIdentifier() -> String { base64URL(Data(randomBytes(32))) }

/// Encodes base64url without padding (RFC 4648 section 5).
func base64URL(_ bytes: some DataProtocol) -> String {
    String(
        Data(bytes).base64EncodedString().compactMap { character -> Character? in
            switch character {
            case "+": "-"
            case "/": "_"
            case "=": nil
            default: character
            }
        })
}

/// Decodes base64url without padding; nil for other text.
func base64URLDecoded(_ text: some StringProtocol) -> Data? {
    guard text.utf8.allSatisfy({ $0 != UInt8(ascii: "+") && $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "=") }) else {
        return nil
    }
    let standard = String(text.map { $0 == "-" ? "+" : $0 == "_" ? "/" : $0 })
    return Data(base64Encoded: standard + String(repeating: "=", count: (4 - standard.utf8.count % 4) % 4))
}

/// Returns the SHA-256 of `text`, to recognise a secret without storing it.
func digest(_ text: String) -> Data { Data(SHA256.hash(data: Data(text.utf8))) }
