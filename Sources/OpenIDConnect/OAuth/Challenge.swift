internal import HTTPTypes
internal import VaultHTTP

/// The `WWW-Authenticate` header field of a server that refuses an access token (RFC 6750 section 3).
enum Challenge {
    /// Returns the `error` of a challenge; nil if there is none.
    ///
    /// - Parameter scheme: the scheme of the challenge, in lower case; nil for the first challenge of any scheme.
    static func error(in answer: HTTPAnswer, scheme: String? = nil) -> String? {
        var current: Substring = ""
        // Commas separate both challenges and parameters (RFC 9110 section 11.6.1). A new scheme and a space stand
        // before a parameter.
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

    /// Whether one of the challenges is for a bearer token.
    static func asksForBearer(_ answer: HTTPAnswer) -> Bool {
        answer.headerFields[values: .wwwAuthenticate].contains { field in
            split(field).contains { $0.split(separator: " ").first?.lowercased() == "bearer" }
        }
    }

    /// Splits at the commas outside quotation marks.
    private static func split(_ field: String) -> [Substring] {
        var isQuoted = false
        return field.split { character in
            if character == "\"" { isQuoted.toggle() }
            return character == "," && !isQuoted
        }
    }
}
