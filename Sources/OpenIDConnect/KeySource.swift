internal import FoundationEssentials

/// The provider's published keys, fetched when first needed and kept for a while.
actor KeySource {
    /// After this many seconds the keys are asked for again, so that a withdrawn key stops counting.
    private static let maximumAge: TimeInterval = 3600
    /// Nobody can make us ask more often than this, in seconds, by sending tokens with unknown keys.
    private static let searchInterval: TimeInterval = 60

    private let clock: any WallClock
    private let fetch: @Sendable () async throws -> [SignatureKey]
    private let flight = SingleFlight<[SignatureKey]>()
    private var cached: (keys: [SignatureKey], at: Date)?
    private var lastSearch: Date?

    init(clock: any WallClock, fetch: @escaping @Sendable () async throws -> [SignatureKey]) {
        self.clock = clock
        self.fetch = fetch
    }

    /// The keys, and whether they were fetched just now.
    func keys() async throws -> (keys: [SignatureKey], areFresh: Bool) {
        if let cached, (0..<Self.maximumAge).contains(clock.now.timeIntervalSince(cached.at)) {
            return (cached.keys, false)
        }
        return (try await load(), true)
    }

    /// Fetches the keys once more because the known ones do not verify a token; nil when that was done a moment ago.
    func searchAgain() async throws -> [SignatureKey]? {
        let now = clock.now
        if let lastSearch, (0..<Self.searchInterval).contains(now.timeIntervalSince(lastSearch)) { return nil }
        lastSearch = now
        return try await load()
    }

    private func load() async throws -> [SignatureKey] {
        try await flight.run { [self] in
            let keys = try await fetch()
            await store(keys)
            return keys
        }
    }

    private func store(_ keys: [SignatureKey]) {
        cached = (keys, clock.now)
    }
}
