internal import VaultBase

/// The limits of new keys: for each client address, and in all. They keep a stranger from filling the disk.
///
/// Each limit is a token bucket that holds the keys of one hour. A bucket is kept as the time at which it is full
/// again, so a full bucket needs no memory.
final class CreateQuota: Sendable {
    /// A refusal, with the time until the next key is free.
    struct Refusal: Error {
        enum Limit: String, CaseIterable { case address, total }

        let limit: Limit
        /// In seconds, rounded up.
        let retryAfter: Int
    }

    /// The most addresses with their own bucket. Further addresses share one bucket.
    private static let maxAddresses = 16 * 1024
    private static let hour = 3600.0

    private struct State {
        /// The times at which the buckets are full, in seconds.
        var full: [NetworkAddress?: Double] = [:]
        var othersFull = 0.0
        var totalFull = 0.0
        var nextCleaning = 0.0
    }

    private let perHour: Int
    private let totalPerHour: Int
    private let state = Lock(State())

    /// - Parameters:
    ///   - perHour: the new keys in an hour of one address; 0 for no limit.
    ///   - totalPerHour: the new keys in an hour of all addresses; 0 for no limit.
    init(perHour: Int, totalPerHour: Int) {
        self.perHour = perHour
        self.totalPerHour = totalPerHour
    }

    /// Takes one key from the buckets.
    ///
    /// - Parameters:
    ///   - address: the client; nil if it has no address.
    ///   - now: the time in seconds, of a clock that never goes back.
    /// - Throws: ``Refusal``. Then nothing was taken.
    func take(_ address: NetworkAddress?, at now: Double) throws(Refusal) {
        guard perHour > 0 || totalPerHour > 0 else { return }
        let address = address?.counted
        try state.withLock { (state) throws(Refusal) in
            let isOther = perHour > 0 && state.full[address] == nil && !makeRoom(&state, at: now)
            let full = isOther ? state.othersFull : state.full[address] ?? 0
            let newFull = try take(full, perHour, at: now, .address)
            state.totalFull = try take(state.totalFull, totalPerHour, at: now, .total)
            guard perHour > 0 else { return }
            if isOther { state.othersFull = newFull } else { state.full[address] = newFull }
        }
    }

    /// The addresses that have a bucket now.
    var count: Int { state.withLock { $0.full.count } }

    /// Returns the time at which a bucket is full after one more key.
    private func take(_ full: Double, _ perHour: Int, at now: Double, _ limit: Refusal.Limit) throws(Refusal) -> Double
    {
        guard perHour > 0 else { return full }
        let newFull = max(full, now) + Self.hour / Double(perHour)
        let wait = newFull - now - Self.hour
        // The sum of many fractions may be a little too large.
        guard wait < 0.000_001 else { throw Refusal(limit: limit, retryAfter: max(1, Int(wait.rounded(.up)))) }
        return newFull
    }

    /// Returns whether there is room for one more bucket. Drops full buckets, at most once a second.
    private func makeRoom(_ state: inout State, at now: Double) -> Bool {
        guard state.full.count >= Self.maxAddresses else { return true }
        guard now >= state.nextCleaning else { return false }
        state.nextCleaning = now + 1
        state.full = state.full.filter { $0.value > now }
        return state.full.count < Self.maxAddresses
    }
}

/// A time in seconds that never goes back, for differences.
enum MonotonicTime {
    private static let start = ContinuousClock.now

    static func now() -> Double {
        start.duration(to: .now) / .seconds(1)
    }
}
