internal import NIOCore
internal import VaultBase

/// The open connections of a listener. If there are too many, a new one takes the place of another.
///
/// Otherwise two addresses with idle connections would keep everybody else out. The address with the most connections
/// loses one: the connection that has been idle longest. If none is idle, it loses the one whose request has been
/// arriving longest, but only to an address that then still has fewer connections. A request that has arrived
/// completely keeps its connection.
final class ConnectionTable: Sendable {
    /// The connections beyond the limit that may be closing at the same time. Beyond these, the system's queue keeps new
    /// ones, so their memory is bounded.
    private static let closing = 64

    /// The time after which a request that still arrives can lose its place to an address with as many connections.
    /// An attacker with many addresses could otherwise keep everybody out with one byte from each.
    private static let slowArrival = TimeAmount.seconds(2)

    private struct State {
        var connections: [ObjectIdentifier: ClientConnection] = [:]
        var counts: [NetworkAddress?: Int] = [:]

        mutating func add(_ connection: ClientConnection) {
            connections[ObjectIdentifier(connection)] = connection
            counts[connection.address, default: 0] += 1
        }

        mutating func remove(_ connection: ClientConnection) {
            guard connections.removeValue(forKey: ObjectIdentifier(connection)) != nil else { return }
            let count = counts[connection.address, default: 0]
            counts[connection.address] = count > 1 ? count - 1 : nil
        }

        /// Removes the connection that loses least, so that an address with `count` connections can have one more.
        mutating func makeRoom(forOneMoreThan count: Int) -> ClientConnection? {
            while true {
                let now = NIODeadline.now()
                var best: (connection: ClientConnection, activity: ClientConnection.Activity, rank: (Int, Int, Int64))?
                for connection in connections.values {
                    let activity = connection.activity
                    let others = counts[connection.address, default: 0]
                    let mayEnd =
                        switch activity.phase {
                        case .idle: others >= count
                        case .arriving:
                            !connection.isTrusted
                                && (others > count + 1
                                    || others >= count && now - activity.since > ConnectionTable.slowArrival)
                        case .underWay, .ending: false
                        }
                    guard mayEnd else { continue }
                    let rank = (activity.phase.rawValue, others, (now - activity.since).nanoseconds)
                    if let best, best.rank >= rank { continue }
                    best = (connection, activity, rank)
                }
                guard let best else { return nil }
                // Perhaps its next request has come meanwhile. Then another one is looked for.
                guard best.connection.end(ifStill: best.activity) else { continue }
                remove(best.connection)
                return best.connection
            }
        }
    }

    private let limit: Int
    private let perAddress: Int
    private let trusted: TrustedProxies
    private let metrics: KeyServiceMetrics
    private let state = Lock(State())

    /// - Parameters:
    ///   - limit: the most connections, at least 1.
    ///   - perAddress: the most connections of one address; 0 for no limit.
    ///   - trusted: addresses without the limit of one address.
    init(limit: Int, perAddress: Int, trusted: TrustedProxies, metrics: KeyServiceMetrics) {
        self.limit = limit
        self.perAddress = perAddress
        self.trusted = trusted
        self.metrics = metrics
        metrics.connectionsLimited(to: limit)
    }

    /// The most connections that the listener has at a time, with those that it is closing.
    var acceptLimit: Int { limit + Self.closing }

    /// Adds a connection until it closes.
    ///
    /// - Returns: ``ClientConnection/refused`` if there is no place for it.
    func admit(_ channel: any Channel) -> ClientConnection {
        let admitted = admit(NetworkAddress(channel.remoteAddress)) {
            channel.pipeline.fireUserInboundEventTriggered(ClientConnection.Cut())
        }
        guard let admitted else { return .refused }
        channel.closeFuture.whenComplete { [self] _ in remove(admitted) }
        return admitted
    }

    /// Adds a connection until ``remove(_:)``.
    ///
    /// - Parameters:
    ///   - peer: the other end; nil if it has no address.
    ///   - cut: closes the connection, on any thread.
    /// - Returns: nil if there is no place for it.
    func admit(_ peer: NetworkAddress?, cut: @escaping @Sendable () -> Void) -> ClientConnection? {
        let isTrusted = trusted.contains(peer)
        let connection = ClientConnection(address: peer?.counted, isTrusted: isTrusted, cut: cut)
        let (isAdmitted, evicted) = state.withLock { state -> (Bool, ClientConnection?) in
            let count = state.counts[connection.address, default: 0]
            if perAddress > 0, peer != nil, !isTrusted, count >= perAddress { return (false, nil) }
            guard state.connections.count >= limit else {
                state.add(connection)
                return (true, nil)
            }
            guard let evicted = state.makeRoom(forOneMoreThan: isTrusted ? 0 : count) else { return (false, nil) }
            state.add(connection)
            return (true, evicted)
        }
        if let evicted {
            metrics.connectionEvicted()
            evicted.cut()
        }
        guard isAdmitted else {
            metrics.connectionRefused()
            return nil
        }
        metrics.connectionOpened()
        return connection
    }

    /// Whether a connection must close after its present answer: all places are taken, and its address has more than a
    /// quarter of them. Otherwise requests that always wait could keep everybody else out.
    func mustLeave(_ connection: ClientConnection) -> Bool {
        guard !connection.isTrusted else { return false }
        return state.withLock { state in
            state.connections.count >= limit && state.counts[connection.address, default: 0] > max(1, limit / 4)
        }
    }

    /// Removes a connection that has closed.
    func remove(_ connection: ClientConnection) {
        state.withLock { $0.remove(connection) }
        metrics.connectionClosed()
    }

    /// Closes all connections, with their requests.
    func closeAll() {
        for connection in state.withLock({ Array($0.connections.values) }) { connection.cut() }
    }
}
