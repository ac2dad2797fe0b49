internal import FoundationEssentials
internal import HTTPTypes

/// How long a document of the provider is kept, in seconds.
enum DocumentLifetime {
    /// What counts when the provider says nothing.
    static let usual: TimeInterval = 3600
    /// Less would only cost requests, whatever the provider says.
    static let shortest: TimeInterval = 60
    /// More would keep what the provider has long withdrawn.
    static let longest: TimeInterval = 86_400

    /// From `Cache-Control` (RFC 9111 section 5.2.2), within the bounds above.
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
