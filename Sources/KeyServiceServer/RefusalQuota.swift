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
