internal import Foundation
internal import OpenIDConnect
internal import VaultBase

// The fields of a backend's answers. Backends spell the same name in several ways, so `access_token` also finds
// `accessToken`, and the other way round.
extension JSONValue {
    /// The value of a field such as `data.user_id`; nil if it is missing or null.
    subscript(field path: String) -> JSONValue? { field(path)?.value }

    /// Finds a field such as `data.user_id`, and tells how the backend spells it. Nil if it is missing or null.
    func field(_ path: String) -> (name: String, value: JSONValue)? {
        var value = self
        var names: [String] = []
        for part in path.split(separator: ".") {
            guard let found = value.member(spelled: String(part)) else { return nil }
            names.append(found.name)
            value = found.value
        }
        guard !names.isEmpty else { return nil }
        return (names.joined(separator: "."), value)
    }

    private func member(spelled name: String) -> (name: String, value: JSONValue)? {
        if let value = self[name] { return (name, value) }
        guard case .object(let members) = self else { return nil }
        let plain = Self.plain(name)
        let others = members.filter { $0.value != .null && Self.plain($0.key) == plain }
        guard let found = others.min(by: { $0.key < $1.key }) else { return nil }
        return (found.key, found.value)
    }

    /// A name without what its spellings differ in.
    static func plain(_ name: String) -> String { name.filter { $0 != "_" }.lowercased() }

    /// The object in a field; nil for another kind of value.
    func object(at path: String) -> JSONValue? { self[field: path].flatMap { $0.isObject ? $0 : nil } }

    private var isObject: Bool { if case .object = self { true } else { false } }

    /// The first identifier in these fields.
    func identifier(at paths: [String]) -> String? {
        for path in paths {
            if let found = self[field: path]?.identifier { return found }
        }
        return nil
    }

    /// The identifier of a person: a text without control characters, or a whole number as digits.
    var identifier: String? {
        if number != nil { return exactInteger }
        guard let string, !string.isEmpty, string.utf8.count <= 255,
            string.unicodeScalars.allSatisfy({ $0.properties.generalCategory != .control })
        else { return nil }
        return string
    }

    /// A time as in RFC 3339, or in seconds since 1970.
    var time: Date? {
        guard let text = string else { return Lifetime.time(self).map(Date.init(timeIntervalSince1970:)) }
        return (try? Date(text, strategy: Date.ISO8601FormatStyle()))
            ?? (try? Date(text, strategy: Date.ISO8601FormatStyle(includingFractionalSeconds: true)))
    }
}
