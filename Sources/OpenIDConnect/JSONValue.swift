internal import FoundationEssentials

/// A JSON value whose members are looked at one by one, so that one odd member does not spoil the rest.
package enum JSONValue: Sendable, Hashable {
    case null
    case bool(Bool)
    case number(Double)
    case string(String)
    case array([JSONValue])
    case object([String: JSONValue])

    /// Parses a JSON object; nil when it is something else or not JSON.
    package init?(objectIn bytes: [UInt8]) {
        guard let value = try? JSONDecoder().decode(JSONValue.self, from: Data(bytes)), case .object = value else {
            return nil
        }
        self = value
    }

    /// Parses a JSON object in which no object has a member twice.
    ///
    /// Parsers differ in which of two equal names they take (RFC 8259 section 4), so signed JSON must not have any.
    package init?(strictObjectIn bytes: [UInt8]) {
        self.init(objectIn: bytes)
        guard memberCount == Self.colonsOutsideStrings(bytes) else { return nil }
    }

    /// The member, unless it is missing or null.
    package subscript(_ name: String) -> JSONValue? {
        guard case .object(let members) = self, let value = members[name], value != .null else { return nil }
        return value
    }

    /// The member even if it is null: for members whose mere presence matters.
    package func member(_ name: String) -> JSONValue? {
        guard case .object(let members) = self else { return nil }
        return members[name]
    }

    package var string: String? { if case .string(let value) = self { value } else { nil } }
    package var number: Double? { if case .number(let value) = self { value } else { nil } }
    package var array: [JSONValue]? { if case .array(let value) = self { value } else { nil } }
    package var bool: Bool? { if case .bool(let value) = self { value } else { nil } }
    /// An array of nothing but strings.
    package var strings: [String]? {
        guard let array else { return nil }
        let strings = array.compactMap(\.string)
        return strings.count == array.count ? strings : nil
    }

    /// The text of it, with the members of objects in the order of their names.
    package func encoded() -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Only a number that is not finite cannot be written, and none of ours is.
        return (try? encoder.encode(self)).map { [UInt8]($0) } ?? Array("null".utf8)
    }

    /// How many members all objects in it have. Of two equal names the decoder keeps one.
    private var memberCount: Int {
        switch self {
        case .array(let values): values.reduce(0) { $0 + $1.memberCount }
        case .object(let members): members.values.reduce(members.count) { $0 + $1.memberCount }
        default: 0
        }
    }

    /// How many members the text has: in valid JSON each brings one colon outside of strings.
    private static func colonsOutsideStrings(_ bytes: [UInt8]) -> Int {
        var colons = 0
        var inString = false
        var escaped = false
        for byte in bytes {
            if escaped {
                escaped = false
            } else if inString, byte == UInt8(ascii: "\\") {
                escaped = true
            } else if byte == UInt8(ascii: "\"") {
                inString.toggle()
            } else if !inString, byte == UInt8(ascii: ":") {
                colons += 1
            }
        }
        return colons
    }
}

extension JSONValue: Codable {
    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(String.self) {
            self = .string(value)
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Double.self) {
            self = .number(value)
        } else if let value = try? container.decode([JSONValue].self) {
            self = .array(value)
        } else {
            self = .object(try container.decode([String: JSONValue].self))
        }
    }
    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .bool(let value): try container.encode(value)
        case .number(let value): try container.encode(value)
        case .string(let value): try container.encode(value)
        case .array(let values): try container.encode(values)
        case .object(let members): try container.encode(members)
        }
    }
}
