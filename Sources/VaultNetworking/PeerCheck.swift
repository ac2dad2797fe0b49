internal import Glibc
internal import NIOCore
internal import VaultHTTP

/// A check of the user behind a connection, before anything is read. It closes connections of other users.
///
/// A connection of an unknown user passes with a ``Unknown`` before it, and gets a page about that.
final class PeerCheck: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer

    /// The event for a connection of an unknown user.
    struct Unknown: Sendable {}

    private let lookup: PeerLookup
    private let refused: @Sendable (RefusedConnection) -> Void
    private var isKnown = false
    private var wantsToRead = false

    /// - Parameter refused: called for each connection that is not this user's.
    init(_ lookup: PeerLookup, refused: @escaping @Sendable (RefusedConnection) -> Void) {
        self.lookup = lookup
        self.refused = refused
    }

    func channelActive(context: ChannelHandlerContext) {
        context.fireChannelActive()
        guard let query = Self.query(context.channel) else { return decide(.unknown, context) }
        let loopBound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        let eventLoop = context.eventLoop
        lookup.find(query) { peer in
            eventLoop.execute {
                let (handler, context) = loopBound.value
                handler.decide(peer, context)
            }
        }
    }

    func read(context: ChannelHandlerContext) {
        if isKnown { context.read() } else { wantsToRead = true }
    }

    private func decide(_ peer: Peer, _ context: ChannelHandlerContext) {
        guard context.channel.isActive else { return }
        isKnown = true
        switch peer {
        case .own: break
        case .other(let user):
            refused(RefusedConnection(user: user))
            return context.close(promise: nil)
        case .unknown:
            refused(RefusedConnection(user: nil))
            context.fireUserInboundEventTriggered(Unknown())
        }
        if wantsToRead { context.read() }
    }

    private static func query(_ channel: any Channel) -> PeerLookup.Query? {
        guard let remote = channel.remoteAddress.flatMap(end), let local = channel.localAddress.flatMap(end) else {
            return nil
        }
        return .init(remote: remote, local: local)
    }

    private static func end(_ address: SocketAddress) -> PeerTable.End? {
        guard let port = address.port.flatMap(UInt16.init(exactly:)), let text = address.ipAddress else { return nil }
        let isIPv4 = address.protocol == .inet
        var bytes = [UInt8](repeating: 0, count: isIPv4 ? 4 : 16)
        guard inet_pton(isIPv4 ? AF_INET : AF_INET6, text, &bytes) == 1 else { return nil }
        return .init(address: bytes, port: port)
    }
}
