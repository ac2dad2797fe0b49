internal import KeyServiceCore
internal import NIOCore
internal import VaultBase

/// The open connections of a listener, with their number for each client address.
final class ConnectionTable: Sendable {
    private struct State {
        var channels: [ObjectIdentifier: any Channel] = [:]
        var counts: [NetworkAddress: Int] = [:]
    }

    private let perAddress: Int
    private let trusted: TrustedProxies
    private let metrics: KeyServiceMetrics
    private let state = Lock(State())

    /// - Parameters:
    ///   - perAddress: the most connections of one address; 0 for no limit.
    ///   - trusted: addresses without this limit.
    init(perAddress: Int, trusted: TrustedProxies, metrics: KeyServiceMetrics) {
        self.perAddress = perAddress
        self.trusted = trusted
        self.metrics = metrics
    }

    /// Adds a connection until it closes.
    ///
    /// - Returns: false if its address has too many connections. Then it was not added.
    func admit(_ channel: any Channel) -> Bool {
        let peer = NetworkAddress(channel.remoteAddress)
        let counted = trusted.contains(peer) ? nil : peer?.counted
        let id = ObjectIdentifier(channel)
        let isAdmitted = state.withLock { state in
            if perAddress > 0, let counted {
                guard state.counts[counted, default: 0] < perAddress else { return false }
                state.counts[counted, default: 0] += 1
            }
            state.channels[id] = channel
            return true
        }
        guard isAdmitted else {
            metrics.connectionRefused()
            return false
        }
        metrics.connectionOpened()
        channel.closeFuture.whenComplete { [self] _ in
            state.withLock { state in
                state.channels[id] = nil
                guard perAddress > 0, let counted, let count = state.counts[counted] else { return }
                state.counts[counted] = count > 1 ? count - 1 : nil
            }
            metrics.connectionClosed()
        }
        return true
    }

    /// Closes all connections, with their requests.
    func closeAll() {
        for channel in state.withLock({ Array($0.channels.values) }) { channel.close(promise: nil) }
    }
}
