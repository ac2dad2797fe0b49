package import FoundationEssentials
package import VaultJSON

/// When something ends, as servers say it.
package enum Lifetime {
    /// A number of seconds, or one in quotes; nil for anything else.
    static func seconds(_ value: JSONValue?) -> Double? {
        guard let seconds = value?.number ?? value?.string.flatMap(Double.init), seconds.isFinite else { return nil }
        return seconds
    }

    /// The end of what lasts for `expires_in` seconds. Nil, which is "unknown", when that makes no sense.
    package static func end(in value: JSONValue?, from sentAt: Date) -> Date? {
        // Nothing is issued for a century: more is a time stamp or a mistake. Below zero it is over already.
        guard let seconds = seconds(value), seconds < 100 * 365 * 86_400 else { return nil }
        return sentAt.addingTimeInterval(max(0, seconds))
    }

    /// A time in a claim: seconds since 1970. Nil for what is before that, or not before the year 3000: a mistake, or
    /// milliseconds.
    package static func time(_ claim: JSONValue?) -> TimeInterval? {
        claim?.number.flatMap { (0..<32_503_680_000).contains($0) ? $0 : nil }
    }
}
