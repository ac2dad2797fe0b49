internal import FoundationEssentials

/// A JSON value. Its members are read one by one, so an odd member does not spoil the rest.
package enum JSONValue: Sendable, Hashable {
    case null
    case bool(Bool)
    case number(Double)
    /// A whole number beyond ±2^53, which a `Double` would round. It fits into an `Int64` or a `UInt64`.
    case integer(Int128)
    case string(String)
    case array([JSONValue])
    case object([String: JSONValue])

    /// Parses a JSON object. Nil if it is not a JSON object, or nested more than 32 levels deep.
    package init?(objectIn bytes: [UInt8]) {
        guard let parsed = JSONParser.parse(bytes), case .object = parsed.value else { return nil }
        self = parsed.value
    }

    /// Parses a JSON object, and refuses members that come twice.
    ///
    /// Parsers choose differently between two equal names (RFC 8259 section 4), so signed JSON must not have any.
    package init?(strictObjectIn bytes: [UInt8]) {
        guard let parsed = JSONParser.parse(bytes), case .object = parsed.value, !parsed.repeatsNames else {
            return nil
        }
        self = parsed.value
    }

    /// The member; nil if it is missing or null.
    package subscript(_ name: String) -> JSONValue? {
        guard case .object(let members) = self, let value = members[name], value != .null else { return nil }
        return value
    }

    /// Returns the member even if it is null, for members whose presence matters.
    package func member(_ name: String) -> JSONValue? {
        guard case .object(let members) = self else { return nil }
        return members[name]
    }

    package var string: String? { if case .string(let value) = self { value } else { nil } }
    /// The number for times and counts. A large one is rounded.
    package var number: Double? {
        switch self {
        case .number(let value): value
        case .integer(let value): Double(value)
        default: nil
        }
    }
    /// The exact digits of a whole number, for identifiers. Nil if it may have been rounded.
    package var exactInteger: String? {
        switch self {
        case .number(let value) where value.magnitude < JSONParser.exactLimit: Int64(exactly: value).map(String.init)
        case .integer(let value): String(value)
        default: nil
        }
    }
    package var array: [JSONValue]? { if case .array(let value) = self { value } else { nil } }
    package var bool: Bool? { if case .bool(let value) = self { value } else { nil } }
    /// The strings of an array; nil if an item is not a string.
    package var strings: [String]? {
        guard let array else { return nil }
        let strings = array.compactMap(\.string)
        return strings.count == array.count ? strings : nil
    }

    /// Encodes the value as JSON, with the members of objects sorted by name.
    package func encoded() -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Encoding fails only for infinite numbers, and there are none here.
        return (try? encoder.encode(self)).map { [UInt8]($0) } ?? Array("null".utf8)
    }
}

extension JSONValue: Encodable {
    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .bool(let value): try container.encode(value)
        case .number(let value): try container.encode(value)
        case .integer(let value):
            if let value = Int64(exactly: value) {
                try container.encode(value)
            } else {
                try container.encode(UInt64(clamping: value))
            }
        case .string(let value): try container.encode(value)
        case .array(let values): try container.encode(values)
        case .object(let members): try container.encode(members)
        }
    }
}
