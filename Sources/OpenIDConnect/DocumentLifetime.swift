internal import FoundationEssentials
internal import HTTPTypes

/// The time for which a document of the provider is kept, in seconds.
enum DocumentLifetime {
    /// The lifetime if the provider names none.
    static let usual: TimeInterval = 3600
    /// The shortest lifetime: a shorter one would only cost requests.
    static let shortest: TimeInterval = 60
    /// The longest lifetime: a longer one would keep keys that the provider withdrew.
    static let longest: TimeInterval = 86_400

    /// Reads the lifetime from `Cache-Control` (RFC 9111 section 5.2.2), within the bounds above.
    static func seconds(of fields: HTTPFields) -> TimeInterval {
        let directives = (fields[.cacheControl] ?? "").lowercased().split(separator: ",").map {
            $0.filter { !$0.isWhitespace }
        }
        if directives.contains("no-store") || directives.contains("no-cache") { return shortest }
        guard let maxAge = directives.first(where: { $0.hasPrefix("max-age=") })?.dropFirst(8),
            let seconds = TimeInterval(maxAge.filter { $0 != "\"" }), seconds.isFinite
        else { return usual }
        return min(max(seconds, shortest), longest)
    }
}
