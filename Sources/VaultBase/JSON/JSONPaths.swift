extension JSONValue {
    /// Makes an object with these values at dotted paths.
    package init(_ members: [(path: String, value: JSONValue)]) {
        self = .object([:])
        for (path, value) in members { set(value, at: path) }
    }

    /// The value at a dotted path such as `user.id`; nil if it is missing or null.
    package subscript(path path: String) -> JSONValue? {
        guard !path.isEmpty else { return nil }
        return path.split(separator: ".").reduce(JSONValue?.some(self)) { $0?[String($1)] }
    }

    /// Puts a value at a dotted path.
    package mutating func set(_ value: JSONValue, at path: String) { set(value, at: path.split(separator: ".")[...]) }

    private mutating func set(_ value: JSONValue, at path: ArraySlice<Substring>) {
        guard let name = path.first.map(String.init) else {
            self = value
            return
        }
        var members = if case .object(let known) = self { known } else { [String: JSONValue]() }
        members[name, default: .object([:])].set(value, at: path.dropFirst())
        self = .object(members)
    }
}
