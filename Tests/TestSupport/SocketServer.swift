internal import Foundation
internal import VaultLocks

/// Serves connections, each on a thread of its own, until it is stopped.
package final class SocketServer: Sendable {
    private let listener: Socket
    private let state = Lock<(open: [Socket], isStopped: Bool)>(([], false))

    /// - Parameter serve: its end, or an error, ends the connection.
    package init(_ listener: Socket, _ serve: @escaping @Sendable (Socket) throws -> Void) {
        self.listener = listener
        Thread.detachNewThread { @Sendable [self] in
            while let client = try? listener.accepted() {
                let isStopped = state.withLock { state in
                    state.open.append(client)
                    return state.isStopped
                }
                if isStopped { return client.stop() }
                Thread.detachNewThread { @Sendable in
                    try? serve(client)
                    client.stop()
                }
            }
        }
    }

    /// Ends all connections, and takes no more.
    package func stop() {
        let open = state.withLock { state in
            state.isStopped = true
            return state.open
        }
        listener.stop()
        for socket in open { socket.stop() }
    }
}
