/// How fast a token bucket fills, and how much it holds. A bucket is kept as the time at which it is full again, in
/// seconds of a clock that never goes back.
struct TokenRate: Sendable {
    /// The seconds until one more token is there.
    private let interval: Double
    /// The seconds until an empty bucket is full.
    private let window: Double

    /// - Parameters:
    ///   - count: the tokens of a full bucket, at least 1.
    ///   - window: the seconds until an empty bucket is full.
    init(_ count: Int, in window: Double) {
        interval = window / Double(count)
        self.window = window
    }

    /// Returns the seconds until the bucket has a token; 0 if it has one.
    func wait(_ full: Double, at now: Double) -> Double {
        let wait = taking(full, at: now) - now - window
        // The sum of many fractions may be a little too large.
        return wait < 0.000_001 ? 0 : wait
    }

    /// Returns the time at which the bucket is full after one token was taken.
    func taking(_ full: Double, at now: Double) -> Double { max(full, now) + interval }
}

/// The buckets of client addresses. A full bucket needs no memory.
struct AddressBuckets {
    /// The most addresses with their own bucket.
    private static let maxAddresses = 16 * 1024

    private var full: [NetworkAddress?: Double] = [:]
    private var nextCleaning = 0.0

    /// The addresses that have a bucket now.
    var count: Int { full.count }

    /// The time at which the bucket of an address is full.
    subscript(address: NetworkAddress?) -> Double {
        get { full[address] ?? 0 }
        set { full[address] = newValue }
    }

    /// Returns whether an address has a bucket, or can have one. Drops full buckets, at most once a second.
    mutating func hasRoom(for address: NetworkAddress?, at now: Double) -> Bool {
        guard full[address] == nil, full.count >= Self.maxAddresses else { return true }
        guard now >= nextCleaning else { return false }
        nextCleaning = now + 1
        full = full.filter { $0.value > now }
        return full.count < Self.maxAddresses
    }
}
