internal import Crypto
internal import FoundationEssentials

/// Random bytes of the operating system.
func randomBytes(_ count: Int) -> [UInt8] {
    SymmetricKey(size: .init(bitCount: count * 8)).withUnsafeBytes { Array($0) }
}

/// An unguessable name for a login that is under way, a code or a nonce: 256 bits.
func randomIdentifier() -> String { base64URL(Data(randomBytes(32))) }

/// Base64url without padding (RFC 4648 section 5).
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

/// The bytes of base64url text without padding; nil when it is none.
func base64URLDecoded(_ text: some StringProtocol) -> Data? {
    guard text.utf8.allSatisfy({ $0 != UInt8(ascii: "+") && $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "=") }) else {
        return nil
    }
    let standard = String(text.map { $0 == "-" ? "+" : $0 == "_" ? "/" : $0 })
    return Data(base64Encoded: standard + String(repeating: "=", count: (4 - standard.utf8.count % 4) % 4))
}

/// The SHA-256 of `text`: what is kept of a secret that only has to be recognised.
func digest(_ text: String) -> Data { Data(SHA256.hash(data: Data(text.utf8))) }
