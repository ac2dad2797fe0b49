internal import Foundation
internal import VaultBase

/// Serves each connection on its own thread, until it is stopped.
package final class SocketServer: Sendable {
    private let listener: Socket
    private let state = Lock<(open: [Socket], isStopped: Bool)>(([], false))

    /// - Parameter serve: serves one connection. The connection ends when it returns or throws.
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

    /// Ends all connections, and accepts no more.
    package func stop() {
        let open = state.withLock { state in
            state.isStopped = true
            return state.open
        }
        listener.stop()
        for socket in open { socket.stop() }
    }
}
