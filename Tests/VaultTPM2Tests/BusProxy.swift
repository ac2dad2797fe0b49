#if TPM2
    import Foundation
    import TestSupport
    import VaultBase

    /// A proxy before a software TPM. It acts like a listener or an attacker on the bus to a real TPM.
    final class BusProxy: Sendable {
        /// The function that handles a command. The number counts from 0.
        typealias Handler =
            @Sendable (_ number: Int, _ command: [UInt8], _ forward: ([UInt8]) throws -> [UInt8]) throws -> [UInt8]

        private let port: Int
        private let target: Int
        private let handler: Handler
        private struct State {
            var bytes: [UInt8] = []
            var commands: [[UInt8]] = []
        }
        private let state = Lock(State())
        private let servers = Lock<[SocketServer]>([])

        var tcti: String { "swtpm:host=127.0.0.1,port=\(port)" }
        /// All bytes in both directions, as each end sent and received them.
        var bytes: [UInt8] { state.withLock { $0.bytes } }
        /// The command codes of the messages.
        var codes: [UInt32] { sent.map { $0[6..<10].reduce(0) { $0 << 8 | UInt32($1) } } }
        /// The commands of the messages.
        var sent: [[UInt8]] { state.withLock { $0.commands } }

        /// - Parameter handler: gets each command, and returns the answer. An error cuts the connection.
        init(to tpm: SoftwareTPM, _ handler: @escaping Handler = { try $2($1) }) throws {
            let (commands, control) = try Socket.listeningPair()
            port = commands.port
            target = tpm.port
            self.handler = handler
            let commandServer = SocketServer(commands) { [self] client in
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
            let controlServer = SocketServer(control) { [target] client in
                let server = try Socket.connected(to: .port(target + 1))
                while true {
                    try server.write(client.readSome())
                    try client.write(server.readSome())
                }
            }
            servers.withLock { $0 = [commandServer, controlServer] }
        }

        private func forward(_ command: [UInt8]) throws -> [UInt8] {
            let server = try Socket.connected(to: .port(target))
            try server.write(command)
            let answer = try server.readMessage()
            state.withLock { $0.bytes += answer }
            return answer
        }

        /// Ends all connections.
        func stop() {
            for server in servers.withLock({ $0 }) { server.stop() }
        }
    }
#endif
