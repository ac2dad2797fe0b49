internal import VaultAuth
internal import VaultHTTP

/// How long the vault waits for servers. Requests of an app's own (`authorizedTransport`) have limits of their own.
public struct TimeLimits: Sendable, Hashable {
    /// For a connection to come up: 1 to 60 seconds. 10 seconds.
    public var connect = Duration.seconds(10)
    /// For a whole answer of the identity provider or backend: 1 to 600 seconds. 30 seconds. After a refresh that ended so,
    /// nobody knows whether the provider carried it out: see `VaultError.Code.identityProviderTimedOut`.
    public var identityProvider = Duration.seconds(30)
    /// For a whole answer of the key service: 1 to 600 seconds. 30 seconds. A guess that ended so may count.
    public var keyService = Duration.seconds(30)

    /// Makes the usual limits: 10 seconds for a connection, 30 seconds for an answer. A limit out of its range is
    /// ``VaultError`` with code `configurationInvalid` when the vault is made.
    public init() {}

    /// The most seconds for a connection, and for an answer. The least is one.
    package static let longest = (connect: 60, answer: 600)

    /// - Throws: ``VaultError`` with code `configurationInvalid`, which names the limit.
    func checked() throws -> TimeLimits {
        for (name, value, longest) in [
            ("connect", connect, Self.longest.connect), ("identityProvider", identityProvider, Self.longest.answer),
            ("keyService", keyService, Self.longest.answer),
        ] where value < .seconds(1) || value > .seconds(longest) {
            throw VaultError(
                .configurationInvalid, "The time limit \(name) is not between 1 and \(longest) seconds. Choose another."
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
