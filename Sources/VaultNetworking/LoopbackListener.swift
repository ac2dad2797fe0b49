internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import VaultBase
public import VaultHTTP

/// A listener on 127.0.0.1, and optionally on [::1], for the redirect at the end of a sign-in in the browser (RFC 8252
/// section 7.3).
///
/// Only a `GET` of the given path counts. All other requests get a small error page. Requests with another `Host` are
/// refused, against DNS rebinding by web pages. Connections of other users of this machine are closed unread: they can
/// read the address of a sign-in in the browser's command line.
public final class LoopbackListener: RedirectListener {
    /// The port of the listener.
    public let port: Int

    private let servers: [any Channel]
    private let mailbox: CallbackMailbox
    private let connections: LoopbackConnections

    /// The refused connections, for one reader. If there are many, the reader may miss some.
    public let refused: AsyncStream<RefusedConnection>
    private let refusals: AsyncStream<RefusedConnection>.Continuation

    private init(
        servers: [any Channel], port: Int, mailbox: CallbackMailbox, connections: LoopbackConnections,
        refused: (stream: AsyncStream<RefusedConnection>, continuation: AsyncStream<RefusedConnection>.Continuation)
    ) {
        self.servers = servers
        self.port = port
        self.mailbox = mailbox
        self.connections = connections
        self.refused = refused.stream
        refusals = refused.continuation
    }

    deinit {
        for server in servers { server.close(promise: nil) }
        refusals.finish()
    }

    /// Opens the port.
    ///
    /// - Parameters:
    ///   - port: 0 for any free port.
    ///   - path: the path of the redirect URI, such as `/callback`; empty means `/`.
    ///   - isForLocalhost: whether the redirect URI has `localhost` instead of 127.0.0.1. Then a browser may try [::1]
    ///     first, and another user must not own that port. So the listener also opens it, if this machine has [::1].
    /// - Throws: ``RedirectListenerError`` with `portInUse` or `cannotListen`.
    public static func start(
        port: Int = 0, path: String, isForLocalhost: Bool = false
    ) async throws -> LoopbackListener {
        try await start(port: port, path: path, isForLocalhost: isForLocalhost, peers: PeerLookup())
    }

    static func start(
        port: Int = 0, path: String, isForLocalhost: Bool = false, peers: PeerLookup
    ) async throws -> LoopbackListener {
        guard (0...65535).contains(port) else { throw RedirectListenerError(.cannotListen, port: port) }
        let mailbox = CallbackMailbox(port: port)
        let connections = LoopbackConnections()
        let path = path.isEmpty ? "/" : path
        let refused = AsyncStream.makeStream(of: RefusedConnection.self, bufferingPolicy: .bufferingOldest(16))
        let bootstrap = ServerBootstrap(group: EventLoops.shared)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try connections.add(channel)
                    let pipeline = channel.pipeline.syncOperations
                    try pipeline.addHandler(PeerCheck(peers) { refused.continuation.yield($0) })
                    try pipeline.addHandler(RequestSizeLimit(bytes: 16 * 1024))
                    try pipeline.addHandler(HTTPResponseEncoder())
                    try pipeline.addHandler(ByteToMessageHandler(HTTPRequestDecoder(leftOverBytesStrategy: .dropBytes)))
                    try pipeline.addHandler(LoopbackConnection(path: path, mailbox: mailbox))
                }
            }
        var servers = [try await bind(bootstrap, to: "127.0.0.1", port)]
        let bound = servers[0].localAddress?.port ?? port
        if isForLocalhost {
            do {
                servers.append(try await bind(bootstrap, to: "::1", bound))
            } catch let error as RedirectListenerError {
                let isMissing = [EADDRNOTAVAIL, EAFNOSUPPORT].contains((error.underlying as? IOError)?.errnoCode)
                if !isMissing {
                    try? await servers[0].close()
                    // Any port will do, so try another one while there are some.
                    guard port == 0, error.code == .portInUse else { throw error }
                    return try await start(path: path, isForLocalhost: true, peers: peers)
                }
            }
        }
        return LoopbackListener(
            servers: servers, port: bound, mailbox: mailbox, connections: connections, refused: refused)
    }

    private static func bind(_ bootstrap: ServerBootstrap, to host: String, _ port: Int) async throws -> any Channel {
        do {
            return try await bootstrap.bind(host: host, port: port).get()
        } catch {
            let inUse = (error as? IOError)?.errnoCode == EADDRINUSE
            throw RedirectListenerError(inUse ? .portInUse : .cannotListen, host: host, port: port, underlying: error)
        }
    }

    /// Waits for the redirect, which may have come already. Call it once, and again after
    /// `ReceivedRedirect.decline(_:status:)`.
    ///
    /// - Throws: ``RedirectListenerError`` with `timedOut` or `stopped`, or `CancellationError` if the task is
    ///   cancelled. Then the listener is closed.
    public func redirect(timeout: Duration) async throws -> ReceivedRedirect {
        let mailbox = mailbox
        let error = RedirectListenerError(.timedOut, port: port)
        let timer = servers[0].eventLoop.scheduleTask(in: TimeAmount(timeout)) { mailbox.close(error) }
        defer { timer.cancel() }
        do {
            return try await withTaskCancellationHandler {
                try await mailbox.take()
            } onCancel: {
                mailbox.close(CancellationError())
            }
        } catch let error as CancellationError {
            await stop()
            throw error
        }
    }

    /// Closes the port and every connection. An unanswered redirect gets a neutral page first.
    ///
    /// After that the port is free. Another call does no harm.
    public func stop() async {
        mailbox.close(RedirectListenerError(.stopped, port: port))
        for server in servers { server.close(promise: nil) }
        for server in servers { try? await server.closeFuture.get() }
        for channel in connections.all {
            channel.triggerUserOutboundEvent(LoopbackConnection.Stop(), promise: nil)
        }
        for channel in connections.all { try? await channel.closeFuture.get() }
    }
}

/// A source of ports that uses ``LoopbackListener``.
public struct LoopbackListening: RedirectListening {
    /// Makes a value that can open ports. No port is open yet.
    public init() {}

    /// Opens a port on 127.0.0.1 (RFC 8252 section 7.3).
    ///
    /// - Parameters:
    ///   - port: the port; 0 for any free port.
    ///   - path: the path of the redirect URI: `/callback`. Empty means `/`.
    ///   - isForLocalhost: whether the redirect URI says `localhost`. Then the port on [::1] is opened, too, if this
    ///     machine has that address.
    /// - Throws: ``RedirectListenerError``: `portInUse`: end the other program, or choose another redirect URI.
    ///   `cannotListen`: see `underlying`.
    public func listen(port: Int, path: String, isForLocalhost: Bool) async throws -> any RedirectListener {
        try await LoopbackListener.start(port: port, path: path, isForLocalhost: isForLocalhost)
    }
}

/// The open connections of one listener.
final class LoopbackConnections: Sendable {
    /// The most connections: more than a browser opens, and too few to use up all file descriptors.
    private static let limit = 64
    private let channels = Lock<[ObjectIdentifier: any Channel]>([:])

    var all: [any Channel] { channels.withLock { Array($0.values) } }

    func add(_ channel: any Channel) throws {
        let id = ObjectIdentifier(channel)
        try channels.withLock { channels in
            guard channels.count < Self.limit else { throw ChannelError.inappropriateOperationForState }
            channels[id] = channel
        }
        channel.closeFuture.whenComplete { [self] _ in channels.withLock { $0[id] = nil } }
    }
}
