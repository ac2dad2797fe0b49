internal import Foundation

/// Names with values, such as the claims that a list of accounts shows, as text in a column.
enum DisplayClaims {
    /// Returns the text; nil for none.
    static func written(_ claims: [String: String]) throws -> String? {
        guard !claims.isEmpty else { return nil }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        return String(decoding: try encoder.encode(claims), as: UTF8.self)
    }

    /// Returns the claims; none for a damaged text.
    static func read(_ text: String?) -> [String: String] {
        guard let text else { return [:] }
        return (try? JSONDecoder().decode([String: String].self, from: Data(text.utf8))) ?? [:]
    }
}
