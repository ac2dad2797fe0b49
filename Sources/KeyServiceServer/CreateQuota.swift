internal import VaultBase

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

/// A time in seconds that never goes back, for differences.
enum MonotonicTime {
    private static let start = ContinuousClock.now

    static func now() -> Double {
        start.duration(to: .now) / .seconds(1)
    }
}
