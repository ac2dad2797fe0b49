internal import VaultBase

/// The limit of refused requests of one client address: wrong guesses, guesses at locked keys, requests without
/// authorization, malformed requests. The limit keeps a stranger from filling the disk with log lines, and the
/// processor with guesses.
///
/// The bucket of an address holds the refusals of ten minutes. Other requests take nothing, because a hospital may have
/// one address for thousands of people. An empty bucket refuses all requests of its address, so the answer says nothing
/// about a secret. Addresses beyond those of ``AddressBuckets`` have no limit: somebody with very many addresses must
/// not lock out others.
final class RefusalQuota: Sendable {
    /// The address has sent too many refused requests.
    struct Exceeded: Error {
        /// The time until the next request is looked at, in seconds, rounded up.
        let retryAfter: Int
        /// The number of such requests of all addresses since the last report; nil if that was less than a minute ago.
        let unreported: Int?
    }

    private let rate: TokenRate?
    private let addresses = Lock(AddressBuckets())
    private let exceeded = MinuteCount()

    /// - Parameter perMinute: the refused requests in a minute of one address; 0 for no limit.
    init(perMinute: Int) {
        rate = perMinute > 0 ? TokenRate(10 * perMinute, in: 600) : nil
    }

    /// Checks an address before the work for its request.
    ///
    /// - Parameters:
    ///   - address: the client; nil if it has no address.
    ///   - now: the time in seconds, of a clock that never goes back.
    /// - Throws: ``Exceeded``.
    func check(_ address: NetworkAddress?, at now: Double) throws(Exceeded) {
        guard let rate else { return }
        let wait = addresses.withLock { rate.wait($0[address?.counted], at: now) }
        guard wait > 0 else { return }
        throw Exceeded(retryAfter: Int(wait.rounded(.up)), unreported: exceeded.add(at: now))
    }

    /// Counts a refused request.
    ///
    /// Requests that ran at the same time may take more than the bucket holds. The address then waits longer.
    func count(_ address: NetworkAddress?, at now: Double) {
        guard let rate else { return }
        let address = address?.counted
        addresses.withLock { addresses in
            guard addresses.hasRoom(for: address, at: now) else { return }
            addresses[address] = rate.taking(addresses[address], at: now)
        }
    }
}

/// The limits of new keys: for each client address, and in all. They keep a stranger from filling the disk.
///
/// Each limit is a token bucket that holds the keys of one hour. Addresses beyond those of ``AddressBuckets`` share one
/// bucket.
final class CreateQuota: Sendable {
    /// A refusal, with the time until the next key is free.
    struct Refusal: Error {
        enum Limit: String, CaseIterable { case address, total }

        let limit: Limit
        /// In seconds, rounded up.
        let retryAfter: Int
    }

    private static let hour = 3600.0

    private struct State {
        var addresses = AddressBuckets()
        /// The bucket of the addresses without their own. As all others, it is kept as the time at which it is full.
        var othersFull = 0.0
        var totalFull = 0.0
    }

    private let perAddress: TokenRate?
    private let total: TokenRate?
    private let state = Lock(State())

    /// - Parameters:
    ///   - perHour: the new keys in an hour of one address; 0 for no limit.
    ///   - totalPerHour: the new keys in an hour of all addresses; 0 for no limit.
    init(perHour: Int, totalPerHour: Int) {
        perAddress = perHour > 0 ? TokenRate(perHour, in: Self.hour) : nil
        total = totalPerHour > 0 ? TokenRate(totalPerHour, in: Self.hour) : nil
    }

    /// Takes one key from the buckets.
    ///
    /// - Parameters:
    ///   - address: the client; nil if it has no address.
    ///   - now: the time in seconds, of a clock that never goes back.
    /// - Throws: ``Refusal``. Then nothing was taken.
    func take(_ address: NetworkAddress?, at now: Double) throws(Refusal) {
        guard perAddress != nil || total != nil else { return }
        let address = address?.counted
        try state.withLock { (state) throws(Refusal) in
            let isOther = perAddress != nil && !state.addresses.hasRoom(for: address, at: now)
            let full = isOther ? state.othersFull : state.addresses[address]
            let newFull = try take(full, perAddress, at: now, .address)
            state.totalFull = try take(state.totalFull, total, at: now, .total)
            guard perAddress != nil else { return }
            if isOther { state.othersFull = newFull } else { state.addresses[address] = newFull }
        }
    }

    /// The addresses that have a bucket now.
    var count: Int { state.withLock { $0.addresses.count } }

    /// Returns the time at which a bucket is full after one more key.
    private func take(
        _ full: Double, _ rate: TokenRate?, at now: Double, _ limit: Refusal.Limit
    ) throws(Refusal) -> Double {
        guard let rate else { return full }
        let wait = rate.wait(full, at: now)
        guard wait == 0 else { throw Refusal(limit: limit, retryAfter: max(1, Int(wait.rounded(.up)))) }
        return rate.taking(full, at: now)
    }
}

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
