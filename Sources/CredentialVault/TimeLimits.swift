internal import VaultHTTP

/// The time limits for servers. An app's own requests (`authorizedTransport`) have their own limits.
public struct TimeLimits: Sendable, Hashable {
    /// The limit for opening a connection: 1 to 60 seconds. 10 seconds by default.
    public var connect = Duration.seconds(10)
    /// The limit for a whole answer of the identity provider or backend: 1 to 600 seconds. 30 seconds by default. If a
    /// refresh exceeds it, the provider may or may not have carried out the refresh: see
    /// `VaultError.Code.identityProviderTimedOut`.
    public var identityProvider = Duration.seconds(30)
    /// The limit for a whole answer of the key service: 1 to 600 seconds. 30 seconds by default. A guess that exceeds
    /// it may count.
    public var keyService = Duration.seconds(30)

    /// Makes the usual limits: 10 seconds for a connection, 30 seconds for an answer. A limit out of its range is
    /// ``VaultError`` with code `configurationInvalid` when the vault is made.
    public init() {}

    /// The greatest limits for a connection and for an answer, in seconds. The least is one second.
    package static let longest = (connect: 60, answer: 600)

    /// - Throws: ``VaultError`` with code `configurationInvalid`. The text names the limit.
    func checked() throws -> TimeLimits {
        for (name, value, longest) in [
            ("connect", connect, Self.longest.connect), ("identityProvider", identityProvider, Self.longest.answer),
            ("keyService", keyService, Self.longest.answer),
        ] where value < .seconds(1) || value > .seconds(longest) {
            throw VaultError(
                .configurationInvalid,
                "The time limit \(name) is not between 1 and \(longest) seconds. Choose another limit."
            )
        }
        return self
    }

    func http(_ exchange: Duration) -> HTTPLimits {
        var limits = HTTPLimits()
        (limits.connect, limits.exchange) = (connect, exchange)
        return limits
    }
}
