internal import NIOCore
internal import VaultBase

/// The open connections of clients, so that a stop need not wait for idle ones.
final class OpenConnections: Sendable {
    private struct State {
        var channels: [ObjectIdentifier: any Channel] = [:]
        var isClosed = false
    }

    private let state = Lock(State())

    func tracker() -> any RemovableChannelHandler & Sendable { Tracker(connections: self) }

    /// Closes all connections, also later ones.
    func closeAll() {
        let channels = state.withLock { state in
            state.isClosed = true
            return state.channels.values.map { $0 }
        }
        for channel in channels { channel.close(promise: nil) }
    }

    private func add(_ channel: any Channel) {
        let isClosed = state.withLock { state in
            state.channels[ObjectIdentifier(channel)] = channel
            return state.isClosed
        }
        if isClosed { channel.close(promise: nil) }
    }

    private func remove(_ channel: any Channel) {
        state.withLock { $0.channels[ObjectIdentifier(channel)] = nil }
    }

    private final class Tracker: ChannelInboundHandler, RemovableChannelHandler, Sendable {
        typealias InboundIn = NIOAny

        let connections: OpenConnections

        init(connections: OpenConnections) { self.connections = connections }

        func handlerAdded(context: ChannelHandlerContext) { connections.add(context.channel) }

        func channelInactive(context: ChannelHandlerContext) {
            connections.remove(context.channel)
            context.fireChannelInactive()
        }
    }
}
