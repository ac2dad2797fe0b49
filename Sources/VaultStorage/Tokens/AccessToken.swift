public import Foundation

/// An access token, as the provider's token endpoint answered it (RFC 6749 section 5.1).
public struct AccessToken: Sendable, Codable, CustomReflectable, CustomStringConvertible, CustomDebugStringConvertible {
    /// The token itself: an opaque string for `Authorization: Bearer`.
    public let value: String
    /// `token_type`, usually `Bearer`.
    public let tokenType: String
    /// The end of the token, or nil if the provider did not say.
    public let expiresAt: Date?
    /// The granted scopes, or nil if the provider did not say.
    public let scope: String?
    /// The time when the token was received.
    public let obtainedAt: Date

    /// Makes an access token from the answer of a token endpoint.
    ///
    /// - Parameters:
    ///   - value: the token itself.
    ///   - tokenType: the `token_type`, usually `Bearer`.
    ///   - expiresAt: when the token ends; nil when the provider did not say.
    ///   - scope: the granted scopes, separated by spaces; nil when the provider did not say.
    ///   - obtainedAt: when the token was received.
    public init(value: String, tokenType: String, expiresAt: Date?, scope: String?, obtainedAt: Date) {
        self.value = value
        self.tokenType = tokenType
        self.expiresAt = expiresAt
        self.scope = scope
        self.obtainedAt = obtainedAt
    }

    /// Whether requests with this token need a proof of possession (RFC 9449).
    package var isBound: Bool { Self.isBound(tokenType) }

    /// Whether requests with tokens of this type need a proof of possession. The case does not matter (RFC 6749 section
    /// 5.1).
    static func isBound(_ tokenType: String) -> Bool { tokenType.lowercased() == "dpop" }

    /// The time for which a token without an end counts as good, in seconds after it was received.
    static let trust: TimeInterval = 300

    /// Whether the token is good for another `duration`.
    ///
    /// A token without an end counts as good for five minutes. A token that lasts a minute or less is good until half
    /// of its life is over: otherwise every use would ask for a new token. A token that was received in the future is
    /// not good: the clock was set back, so nobody knows whether the token has ended.
    public func isValid(for duration: Duration, at now: Date) -> Bool {
        guard obtainedAt <= now.addingTimeInterval(60) else { return false }
        let end = expiresAt ?? obtainedAt.addingTimeInterval(Self.trust)
        // In seconds. Each request for a token comes here, and a calculation with `Duration` takes several times as long.
        let (left, life) = (end.timeIntervalSince(now), end.timeIntervalSince(obtainedAt))
        return left > duration / .seconds(1) || life <= 60 && left > life / 2
    }

    public var description: String { "AccessToken(expires: \(expiresAt.map { "\($0)" } ?? "unknown"))" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: ["expiresAt": expiresAt as Any]) }
}
