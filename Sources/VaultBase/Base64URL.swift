internal import FoundationEssentials

/// Base64url (RFC 4648 section 5) of public bytes, without padding. Each byte string has exactly one text.
public enum Base64URL {
    /// Returns the text of `bytes`.
    public static func encode(_ bytes: some Sequence<UInt8>) -> String {
        let digits = Data(bytes).base64EncodedData().compactMap { digit -> UInt8? in
            switch digit {
            case UInt8(ascii: "+"): UInt8(ascii: "-")
            case UInt8(ascii: "/"): UInt8(ascii: "_")
            case UInt8(ascii: "="): nil
            default: digit
            }
        }
        return String(decoding: digits, as: UTF8.self)
    }

    /// Returns the bytes of a text; nil unless ``encode(_:)`` turns them into exactly this text. So nobody can respell a
    /// signed token.
    public static func decode(_ text: some StringProtocol) -> [UInt8]? {
        var digits = text.utf8.map { digit in
            switch digit {
            case UInt8(ascii: "-"): UInt8(ascii: "+")
            case UInt8(ascii: "_"): UInt8(ascii: "/")
            default: digit
            }
        }
        while digits.count % 4 != 0 { digits.append(UInt8(ascii: "=")) }
        guard let bytes = Data(base64Encoded: Data(digits)), encode(bytes).utf8.elementsEqual(text.utf8) else {
            return nil
        }
        return Array(bytes)
    }
}

/// Bytes in JSON: base64url without padding, in its one form.
public struct JSONBytes: Codable, Sendable, Hashable {
    /// The bytes.
    public var bytes: [UInt8]

    /// - Parameter bytes: any bytes.
    public init(_ bytes: [UInt8]) { self.bytes = bytes }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let bytes = Base64URL.decode(try container.decode(String.self)) else {
            // The value may be secret, so the error has no part of it.
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "not base64url")
        }
        self.bytes = bytes
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(Base64URL.encode(bytes))
    }
}
