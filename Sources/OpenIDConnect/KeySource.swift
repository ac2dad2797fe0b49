internal import FoundationEssentials
internal import VaultBase

/// The provider's published keys, fetched when first needed and kept for a while.
actor KeySource {
    /// Keys, and their lifetime in seconds. After that they are fetched again, which finds out about withdrawn keys.
    typealias Answer = (keys: [SignatureKey], lifetime: TimeInterval)

    /// The shortest time between two searches for an unknown key, in seconds. Without it, bad tokens could cause many
    /// requests.
    private static let searchInterval: TimeInterval = 60

    private struct Cached {
        let keys: [SignatureKey]
        let fetchedAt: Date
        let lifetime: TimeInterval
        /// The number of the fetch.
        let generation: Int
    }

    private let clock: any WallClock
    private let fetch: @Sendable () async throws -> Answer
    private let flight = SingleFlight<Cached>()
    private var cached: Cached?
    private var generation = 0
    private var isLoading = false
    private var lastSearch: Date?
    private var lastFailure: (any Error)?

    init(clock: any WallClock, fetch: @escaping @Sendable () async throws -> Answer) {
        self.clock = clock
        self.fetch = fetch
    }

    /// Returns the keys, whether this call fetched them, and the number of that fetch.
    func keys() async throws -> (keys: [SignatureKey], areFresh: Bool, generation: Int) {
        if let cached, (0..<cached.lifetime).contains(clock.now.timeIntervalSince(cached.fetchedAt)) {
            return (cached.keys, false, cached.generation)
        }
        let loaded = try await load()
        return (loaded.keys, true, loaded.generation)
    }

    /// Returns newer keys, for a token that the keys of a fetch do not verify. Returns nil if there are none and the
    /// last search was less than a minute ago.
    func keys(newerThan generation: Int) async throws -> [SignatureKey]? {
        if let cached, cached.generation > generation { return cached.keys }
        if !isLoading {
            let now = clock.now
            if let lastSearch, (0..<Self.searchInterval).contains(now.timeIntervalSince(lastSearch)) {
                if let lastFailure { throw lastFailure }
                return nil
            }
            lastSearch = now
        }
        return try await load().keys
    }

    private func load() async throws -> Cached {
        isLoading = true
        do {
            return try await flight.run { [self] in
                do { return await loaded(try await fetch()) } catch { throw await failed(error) }
            }
        } catch let error as CancellationError {
            throw OpenIDConnectError(.cancelled, "", underlying: error)
        }
    }

    private func loaded(_ answer: Answer) -> Cached {
        (isLoading, lastFailure) = (false, nil)
        generation += 1
        let new = Cached(
            keys: answer.keys, fetchedAt: clock.now, lifetime: answer.lifetime, generation: generation)
        cached = new
        return new
    }

    private func failed(_ error: any Error) -> any Error {
        (isLoading, lastFailure) = (false, error)
        return error
    }
}
