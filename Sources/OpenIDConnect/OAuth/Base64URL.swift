internal import FoundationEssentials

/// Base64url without padding (RFC 4648 section 5, RFC 7515 appendix C).
package enum Base64URL {
    package static func encode(_ bytes: some Sequence<UInt8>) -> String {
        Data(bytes).base64EncodedString().compactMap { character -> String? in
            switch character {
            case "+": "-"
            case "/": "_"
            case "=": nil
            default: String(character)
            }
        }.joined()
    }

    /// Returns the bytes; nil unless `encode` turns them into exactly `text`. So nobody can respell a signed token.
    package static func decode(_ text: some StringProtocol) -> [UInt8]? {
        var base64 = text.utf8.map { byte in
            switch byte {
            case UInt8(ascii: "-"): UInt8(ascii: "+")
            case UInt8(ascii: "_"): UInt8(ascii: "/")
            default: byte
            }
        }
        while base64.count % 4 != 0 { base64.append(UInt8(ascii: "=")) }
        guard let data = Data(base64Encoded: Data(base64)), encode(data) == text else { return nil }
        return [UInt8](data)
    }
}
