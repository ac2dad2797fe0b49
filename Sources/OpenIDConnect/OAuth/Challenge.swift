internal import HTTPTypes
internal import VaultHTTP

/// What a server says in `WWW-Authenticate` when it does not take an access token (RFC 6750 section 3).
enum Challenge {
    /// The `error` of a challenge; nil when it names none.
    ///
    /// - Parameter scheme: only that of challenges of this scheme, in lower case; nil for the first of any scheme.
    static func error(in answer: HTTPAnswer, scheme: String? = nil) -> String? {
        var current: Substring = ""
        // Challenges and their parameters are separated alike (RFC 9110 section 11.6.1); a new scheme stands before a
        // parameter, after a space.
        for field in answer.headerFields[values: .wwwAuthenticate] {
            for part in split(field) {
                let name = part.prefix { $0 != "=" }
                let words = name.split(separator: " ")
                guard let last = words.last else { continue }
                if words.count > 1 || !part.contains("=") { current = words[0] }
                guard last.lowercased() == "error", part.contains("=") else { continue }
                guard scheme == nil || current.lowercased() == scheme else { continue }
                return part.dropFirst(name.count + 1).filter { $0 != "\"" && $0 != " " }
            }
        }
        return nil
    }

    /// At the commas that are not within quotation marks.
    private static func split(_ field: String) -> [Substring] {
        var isQuoted = false
        return field.split { character in
            if character == "\"" { isQuoted.toggle() }
            return character == "," && !isQuoted
        }
    }
}
