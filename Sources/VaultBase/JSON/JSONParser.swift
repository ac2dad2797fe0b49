/// A JSON parser (RFC 8259). Its time grows only with the length of the text, not with the nesting.
///
/// `JSONDecoder` does not tell the kind of the next value, and trying all kinds costs more with every level. It also
/// rounds numbers, and accepts the same name twice.
struct JSONParser {
    /// The deepest nesting: more than any provider needs, and safe for the stack.
    static let deepest = 32
    /// The limit for exact whole numbers: above it, a `Double` stands for more than one.
    static let exactLimit = 9_007_199_254_740_992.0

    private struct Malformed: Error {}

    private let bytes: [UInt8]
    private var index = 0
    private var depth = 0
    private var repeatsNames = false

    private init(_ bytes: [UInt8]) {
        self.bytes = bytes
        // A byte order mark may be ignored (section 8.1).
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { index = 3 }
    }

    /// Returns the value, and whether an object in it has a member twice. The first of the two is kept. Returns nil if
    /// the text is not JSON in UTF-8, has a too large number, or is nested too deep.
    static func parse(_ bytes: [UInt8]) -> (value: JSONValue, repeatsNames: Bool)? {
        var parser = JSONParser(bytes)
        guard let value = try? parser.value(), parser.next() == nil else { return nil }
        return (value, parser.repeatsNames)
    }

    /// Returns the next byte after white space; nil at the end.
    private mutating func next() -> UInt8? {
        while index < bytes.count, [0x20, 0x09, 0x0A, 0x0D].contains(bytes[index]) { index += 1 }
        return index < bytes.count ? bytes[index] : nil
    }

    private mutating func value() throws -> JSONValue {
        switch next() {
        case UInt8(ascii: "{"): return .object(try object())
        case UInt8(ascii: "["): return .array(try array())
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"): return try word("true", .bool(true))
        case UInt8(ascii: "f"): return try word("false", .bool(false))
        case UInt8(ascii: "n"): return try word("null", .null)
        default: return try number()
        }
    }

    private mutating func object() throws -> [String: JSONValue] {
        var members: [String: JSONValue] = [:]
        try items(until: "}") { parser in
            guard parser.next() == UInt8(ascii: "\"") else { throw Malformed() }
            let name = try parser.string()
            guard parser.skips(":") else { throw Malformed() }
            let value = try parser.value()
            if members[name] == nil { members[name] = value } else { parser.repeatsNames = true }
        }
        return members
    }

    private mutating func array() throws -> [JSONValue] {
        var values: [JSONValue] = []
        try items(until: "]") { values.append(try $0.value()) }
        return values
    }

    /// Reads the items between brackets, separated by commas.
    private mutating func items(
        until end: Unicode.Scalar, _ item: (inout JSONParser) throws -> Void
    ) throws {
        depth += 1
        guard depth <= Self.deepest else { throw Malformed() }
        index += 1
        if !skips(end) {
            repeat { try item(&self) } while skips(",")
            guard skips(end) else { throw Malformed() }
        }
        depth -= 1
    }

    private mutating func skips(_ character: Unicode.Scalar) -> Bool {
        guard next() == UInt8(ascii: character) else { return false }
        index += 1
        return true
    }

    private mutating func word(_ word: String, _ value: JSONValue) throws -> JSONValue {
        guard bytes[index...].starts(with: word.utf8) else { throw Malformed() }
        index += word.utf8.count
        return value
    }

    // MARK: - Numbers

    private mutating func number() throws -> JSONValue {
        let start = index
        _ = takes("-")
        if !takes("0") { try digits() }
        var isWhole = true
        if takes(".") {
            isWhole = false
            try digits()
        }
        if takes("e") || takes("E") {
            isWhole = false
            _ = takes("+") || takes("-")
            try digits()
        }
        let text = String(decoding: bytes[start..<index], as: UTF8.self)
        guard let rounded = Double(text), rounded.isFinite else { throw Malformed() }
        if isWhole, rounded.magnitude >= Self.exactLimit, let exact = Int128(text),
            exact >= Int128(Int64.min), exact <= Int128(UInt64.max)
        {
            return .integer(exact)
        }
        return .number(rounded)
    }

    private mutating func digits() throws {
        let start = index
        while index < bytes.count, (0x30...0x39).contains(bytes[index]) { index += 1 }
        guard index > start else { throw Malformed() }
    }

    private mutating func takes(_ character: Unicode.Scalar) -> Bool {
        guard index < bytes.count, bytes[index] == UInt8(ascii: character) else { return false }
        index += 1
        return true
    }

    // MARK: - Strings

    private mutating func string() throws -> String {
        index += 1
        var text: [UInt8] = []
        while index < bytes.count {
            let byte = bytes[index]
            index += 1
            switch byte {
            case UInt8(ascii: "\""):
                guard let string = String(validating: text, as: UTF8.self) else { throw Malformed() }
                return string
            case UInt8(ascii: "\\"): text.append(contentsOf: String(Character(try escaped())).utf8)
            case 0..<0x20: throw Malformed()
            default: text.append(byte)
            }
        }
        throw Malformed()
    }

    /// Reads the rest of an escape, after the backslash.
    private mutating func escaped() throws -> Unicode.Scalar {
        guard index < bytes.count else { throw Malformed() }
        index += 1
        switch bytes[index - 1] {
        case UInt8(ascii: "\""): return "\""
        case UInt8(ascii: "\\"): return "\\"
        case UInt8(ascii: "/"): return "/"
        case UInt8(ascii: "b"): return "\u{8}"
        case UInt8(ascii: "f"): return "\u{C}"
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "u"): break
        default: throw Malformed()
        }
        var code = try codeUnit()
        if (0xD800..<0xDC00).contains(code) {
            guard takes("\\"), takes("u") else { throw Malformed() }
            let low = try codeUnit()
            guard (0xDC00..<0xE000).contains(low) else { throw Malformed() }
            code = 0x10000 + (code - 0xD800) << 10 + (low - 0xDC00)
        }
        // The scalar is nil for half a surrogate pair.
        guard let scalar = Unicode.Scalar(code) else { throw Malformed() }
        return scalar
    }

    private mutating func codeUnit() throws -> UInt32 {
        let digits = bytes[index...].prefix(4)
        guard digits.count == 4, let unit = UInt32(String(decoding: digits, as: UTF8.self), radix: 16),
            digits.first != UInt8(ascii: "+"), digits.first != UInt8(ascii: "-")
        else { throw Malformed() }
        index += 4
        return unit
    }
}
