internal import FoundationEssentials

/// A JSON value whose members are looked at one by one, so that one odd member does not spoil the rest.
package enum JSONValue: Sendable, Hashable {
    case null
    case bool(Bool)
    case number(Double)
    /// A whole number of 2^53 or more either way, which a `Double` would round. It fits an `Int64` or a `UInt64`.
    case integer(Int128)
    case string(String)
    case array([JSONValue])
    case object([String: JSONValue])

    /// Parses a JSON object; nil when it is something else, not JSON, or nested more than 32 levels deep.
    package init?(objectIn bytes: [UInt8]) {
        guard let parsed = JSONParser.parse(bytes), case .object = parsed.value else { return nil }
        self = parsed.value
    }

    /// Parses a JSON object in which no object has a member twice.
    ///
    /// Parsers differ in which of two equal names they take (RFC 8259 section 4), so signed JSON must not have any.
    package init?(strictObjectIn bytes: [UInt8]) {
        guard let parsed = JSONParser.parse(bytes), case .object = parsed.value, !parsed.repeatsNames else {
            return nil
        }
        self = parsed.value
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
    /// The number, rounded where it is large: for times and counts.
    package var number: Double? {
        switch self {
        case .number(let value): value
        case .integer(let value): Double(value)
        default: nil
        }
    }
    /// The digits of a whole number, exactly: for numbers that name something. Nil when it may have been rounded.
    package var exactInteger: String? {
        switch self {
        case .number(let value) where value.magnitude < JSONParser.exactLimit: Int64(exactly: value).map(String.init)
        case .integer(let value): String(value)
        default: nil
        }
    }
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
