package import FoundationEssentials
package import VaultBase

/// The times in servers' answers.
package enum Lifetime {
    /// Reads a number of seconds, also in quotes. Returns nil for anything else.
    static func seconds(_ value: JSONValue?) -> Double? {
        guard let seconds = value?.number ?? value?.string.flatMap(Double.init), seconds.isFinite else { return nil }
        return seconds
    }

    /// Returns the end of a lifetime of `expires_in` seconds. Returns nil, which means "unknown", if the number makes
    /// no sense.
    package static func end(in value: JSONValue?, from sentAt: Date) -> Date? {
        // No lifetime is a century long: such a number is a time stamp or a mistake. A number below zero means
        // "expired".
        guard let seconds = seconds(value), seconds < 100 * 365 * 86_400 else { return nil }
        return sentAt.addingTimeInterval(max(0, seconds))
    }

    /// Reads a time in a claim, in seconds since 1970. Returns nil for times before 1970, and from the year 3000 on:
    /// mistakes, or milliseconds.
    package static func time(_ claim: JSONValue?) -> TimeInterval? {
        claim?.number.flatMap { (0..<32_503_680_000).contains($0) ? $0 : nil }
    }
}
