#if PKCS11
    import Foundation
    import VaultBase
    import TestSupport
    import Testing

    @testable import VaultPKCS11

    /// A message between p11-kit and its server.
    struct RPCMessage {
        /// The calls that the tests look at, with p11-kit's numbers.
        enum Call: UInt32 {
            case error = 0
            case initialize = 1
            case finalize = 2
            case getTokenInfo = 6
            case openSession = 10
            case closeSession = 11
            case logIn = 18
            case logOut = 19
            case destroyObject = 22
            case getAttributeValue = 24
            case findObjects = 27
            case findObjectsFinal = 28
            case decryptInit = 33
            case decrypt = 34
            case generateKeyPair = 59
        }

        let code: [UInt8]
        let options: [UInt8]
        var body: [UInt8]

        var number: UInt32 { body.prefix(4).reduce(0) { $0 << 8 | UInt32($1) } }
        var call: Call? { Call(rawValue: number) }

        init(from socket: Socket) throws {
            let header = try socket.read(12)
            let sizes = [4, 8].map { header[$0..<$0 + 4].reduce(0) { $0 << 8 | Int($1) } }
            code = Array(header[..<4])
            options = try socket.read(sizes[0])
            body = try socket.read(sizes[1])
        }

        func write(to socket: Socket) throws {
            let sizes = [options.count, body.count].flatMap { size in
                withUnsafeBytes(of: UInt32(size).bigEndian) { Array($0) }
            }
            try socket.write(code + sizes + options + body)
        }

        /// An answer that reports that the call failed.
        func failing(_ returnValue: UInt) -> RPCMessage {
            var answer = self
            answer.body = [0, 0, 0, 0, 0, 0, 0, 1, UInt8(ascii: "u")]
            withUnsafeBytes(of: UInt64(returnValue).bigEndian) { answer.body += $0 }
            return answer
        }

        /// The position of the label in an answer about a token: after the number, the signature and the label's
        /// length. Three more names follow, and the flags.
        private static let label = 4 + 4 + "ssssuuuuuuuuuuuvvs".utf8.count + 4

        /// An answer about a token, with other flags.
        func withFlags(_ change: (UInt64) -> UInt64) -> RPCMessage {
            var answer = self
            let start = Self.label + 32 + 4 + 32 + 4 + 16 + 4 + 16
            let flags = body[start..<start + 8].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            withUnsafeBytes(of: change(flags).bigEndian) { answer.body.replaceSubrange(start..<start + 8, with: $0) }
            return answer
        }

        /// An answer about a token, with another label and serial number.
        func renamed(label: String? = nil, serial: String? = nil) -> RPCMessage {
            var answer = self
            for (name, start, size) in [(label, Self.label, 32), (serial, Self.label + 32 + 4 + 32 + 4 + 16 + 4, 16)] {
                guard let name else { continue }
                let padded = Array(name.utf8) + [UInt8](repeating: 0x20, count: size - name.utf8.count)
                answer.body.replaceSubrange(start..<start + size, with: padded)
            }
            return answer
        }
    }

    /// A proxy before a token. It records the requests and causes faults.
    final class TokenProxy: Sendable {
        /// The function that handles a message. The number counts from 0.
        typealias Handler =
            @Sendable (_ number: Int, _ message: RPCMessage, _ forward: (RPCMessage) throws -> RPCMessage) throws ->
            RPCMessage

        private let folder: URL
        private let module: String
        private let handler: Handler
        private let asked = Lock<[RPCMessage]>([])
        private let server = Lock<SocketServer?>(nil)

        var socket: String { folder.appending(path: "s").path }
        var uri: String { "pkcs11:?module-name=\(module)" }
        var provider: PKCS11Provider { PKCS11Provider(uri) }
        /// The requests to the token.
        var messages: [RPCMessage] { asked.withLock { $0 } }
        func count(_ call: RPCMessage.Call) -> Int { messages.count { $0.call == call } }

        /// - Parameter handler: gets each message, and returns the answer. An error cuts the connection.
        init(to server: TokenServer, _ handler: @escaping Handler = { try $2($1) }) throws {
            folder = try TokenServer.newFolder()
            let path = folder.appending(path: "s").path
            let listener = try Socket.listening(on: .path(path))
            module = try TestModules.add(socket: path)
            self.handler = handler
            let listening = SocketServer(listener) { [self, target = server.socket] client in
                try serve(client, Socket.connected(to: .path(target)))
            }
            self.server.withLock { $0 = listening }
        }

        private func serve(_ client: Socket, _ server: Socket) throws {
            // Both ends begin with their protocol version.
            try server.write(client.read(1))
            try client.write(server.read(1))
            while true {
                let message = try RPCMessage(from: client)
                let number = asked.withLock { asked in
                    asked.append(message)
                    return asked.count - 1
                }
                let answer = try handler(number, message) { message in
                    try message.write(to: server)
                    return try RPCMessage(from: server)
                }
                try answer.write(to: client)
            }
        }

        /// Ends all connections.
        func stop() {
            server.withLock { $0 }?.stop()
            TestModules.remove(module)
            try? FileManager.default.removeItem(at: folder)
        }
    }
#endif
