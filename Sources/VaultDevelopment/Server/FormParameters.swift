/// The parameters of a query or of a posted form (`application/x-www-form-urlencoded`).
struct FormParameters {
    private var values: [String: String] = [:]
    /// A parameter that came more than once, which RFC 6749 section 3.1 forbids.
    private(set) var repeated: String?

    /// Reads `text`. Nil if an escape in it is malformed or not UTF-8.
    init?(_ text: some StringProtocol) {
        for pair in text.split(separator: "&") {
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = Self.decoded(parts[0]), let value = Self.decoded(parts.count > 1 ? parts[1] : "") else {
                return nil
            }
            if values.updateValue(value, forKey: name) != nil { repeated = name }
        }
    }

    /// The value; nil if it is missing or empty, which means the same (RFC 6749 section 3.1).
    subscript(name: String) -> String? {
        values[name].flatMap { $0.isEmpty ? nil : $0 }
    }

    /// The additional parameters of an authorization request. None of them is a secret.
    var askedFor: [String: String] {
        let own: Set = [
            "response_type", "client_id", "redirect_uri", "scope", "state", "nonce", "code_challenge",
            "code_challenge_method", "dpop_jkt", "request_uri", "client_secret",
        ]
        return values.filter { !own.contains($0.key) && !$0.value.isEmpty }
    }

    /// Decodes a name or value. Returns nil if an escape is malformed or not UTF-8.
    static func decoded(_ text: some StringProtocol) -> String? {
        var bytes: [UInt8] = []
        var rest = text.utf8.makeIterator()
        while let byte = rest.next() {
            switch byte {
            case UInt8(ascii: "+"): bytes.append(UInt8(ascii: " "))
            case UInt8(ascii: "%"):
                guard let high = rest.next(), let low = rest.next(), let value = hexadecimal(high, low) else {
                    return nil
                }
                bytes.append(value)
            default: bytes.append(byte)
            }
        }
        return String(validating: bytes, as: UTF8.self)
    }

    private static func hexadecimal(_ high: UInt8, _ low: UInt8) -> UInt8? {
        guard let high = Character(Unicode.Scalar(high)).hexDigitValue,
            let low = Character(Unicode.Scalar(low)).hexDigitValue
        else { return nil }
        return UInt8(high << 4 | low)
    }

    /// Encodes `parameters` as a query or form body. All but the unreserved characters of RFC 3986 are escaped.
    static func encoded(_ parameters: [(String, String)]) -> String {
        parameters.map { "\(escaped($0.0))=\(escaped($0.1))" }.joined(separator: "&")
    }

    private static func escaped(_ text: String) -> String {
        let digits = Array("0123456789ABCDEF")
        return text.utf8.reduce(into: "") { result, byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"):
                result.unicodeScalars.append(Unicode.Scalar(byte))
            default:
                result += "%"
                result.append(digits[Int(byte >> 4)])
                result.append(digits[Int(byte & 15)])
            }
        }
    }
}
