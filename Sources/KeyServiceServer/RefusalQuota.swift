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

    private struct State {
        var addresses = AddressBuckets()
        var unreported = 0
        var nextReport = 0.0
    }

    private let rate: TokenRate?
    private let state = Lock(State())

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
        try state.withLock { (state) throws(Exceeded) in
            let wait = rate.wait(state.addresses[address?.counted], at: now)
            guard wait > 0 else { return }
            state.unreported += 1
            var count: Int?
            if now >= state.nextReport {
                count = state.unreported
                (state.unreported, state.nextReport) = (0, now + 60)
            }
            throw Exceeded(retryAfter: Int(wait.rounded(.up)), unreported: count)
        }
    }

    /// Counts a refused request.
    ///
    /// Requests that ran at the same time may take more than the bucket holds. The address then waits longer.
    func count(_ address: NetworkAddress?, at now: Double) {
        guard let rate else { return }
        let address = address?.counted
        state.withLock { state in
            guard state.addresses.hasRoom(for: address, at: now) else { return }
            state.addresses[address] = rate.taking(state.addresses[address], at: now)
        }
    }
}
