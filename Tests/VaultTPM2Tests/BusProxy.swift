#if TPM2
    import Foundation
    import Synchronization

    /// Sits on the way to a software TPM as a listener, or somebody worse, sits on the bus to a real one.
    final class BusProxy: Sendable {
        /// What happens to a command. The number counts from 0.
        typealias Handler =
            @Sendable (_ number: Int, _ command: [UInt8], _ forward: ([UInt8]) throws -> [UInt8]) throws -> [UInt8]

        private let commands: Socket
        private let control: Socket
        private let target: Int
        private let handler: Handler
        private struct State {
            var bytes: [UInt8] = []
            var commands: [[UInt8]] = []
            var open: [Socket] = []
            var isStopped = false
        }
        private let state = Mutex(State())

        var tcti: String { "swtpm:host=127.0.0.1,port=\(commands.port)" }
        /// All that came by, both ways, as the two ends sent and got it.
        var bytes: [UInt8] { state.withLock { $0.bytes } }
        /// The command codes that came by.
        var codes: [UInt32] { sent.map { $0[6..<10].reduce(0) { $0 << 8 | UInt32($1) } } }
        /// The commands that came by.
        var sent: [[UInt8]] { state.withLock { $0.commands } }

        /// - Parameter handler: sees each command, and returns what is answered. An error cuts the connection.
        init(to tpm: SoftwareTPM, _ handler: @escaping Handler = { try $2($1) }) throws {
            (commands, control) = try Socket.listeningPair()
            target = tpm.port
            self.handler = handler
            serve(commands) { [self] client in
                while true {
                    let command = try client.readMessage()
                    let number = state.withLock { state in
                        state.bytes += command
                        state.commands.append(command)
                        return state.commands.count - 1
                    }
                    let answer = try handler(number, command, forward)
                    state.withLock { $0.bytes += answer }
                    try client.write(answer)
                }
            }
            serve(control) { [target] client in
                let server = try Socket.connected(to: target + 1)
                while true {
                    try server.write(client.readSome())
                    try client.write(server.readSome())
                }
            }
        }

        private func forward(_ command: [UInt8]) throws -> [UInt8] {
            let server = try Socket.connected(to: target)
            try server.write(command)
            let answer = try server.readMessage()
            state.withLock { $0.bytes += answer }
            return answer
        }

        private func serve(_ listener: Socket, _ serve: @escaping @Sendable (Socket) throws -> Void) {
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

        /// Ends all connections.
        func stop() {
            let open = state.withLock { state in
                state.isStopped = true
                return state.open
            }
            commands.stop()
            control.stop()
            for socket in open { socket.stop() }
        }
    }

    /// A gate that is closed at first, for threads.
    final class ThreadGate: @unchecked Sendable {
        // Sound because the condition guards the flag.
        private let condition = NSCondition()
        private var isOpen = false

        func open() {
            condition.lock()
            isOpen = true
            condition.broadcast()
            condition.unlock()
        }

        func pass() {
            condition.lock()
            while !isOpen { condition.wait() }
            condition.unlock()
        }
    }
#endif
