#if TPM2
    import Foundation

    /// A TCP connection or listener on loopback, with calls that block: only for threads of a test's own.
    final class Socket: Sendable {
        struct Broken: Error {
            /// Where, and `errno` there.
            let call: String
            let number = errno
        }

        private let descriptor: Int32

        private init(_ descriptor: Int32) { self.descriptor = descriptor }

        deinit { close(descriptor) }

        private static func make() throws -> Socket {
            let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
            guard descriptor >= 0 else { throw Broken(call: "socket") }
            return Socket(descriptor)
        }

        private func with<R>(port: Int, _ body: (UnsafePointer<sockaddr>, socklen_t) -> R) -> R {
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = in_port_t(port).bigEndian
            address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
            return withUnsafePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
        }

        static func connected(to port: Int) throws -> Socket {
            let socket = try make()
            guard socket.with(port: port, { connect(socket.descriptor, $0, $1) }) == 0 else {
                throw Broken(call: "connect")
            }
            return socket
        }

        static func listening(on port: Int) throws -> Socket {
            let socket = try make()
            guard socket.with(port: port, { bind(socket.descriptor, $0, $1) }) == 0, listen(socket.descriptor, 16) == 0
            else { throw Broken(call: "listen") }
            return socket
        }

        /// Two listeners on neighbouring free ports, as swtpm has them: commands on the first, control on the second.
        static func listeningPair() throws -> (commands: Socket, control: Socket) {
            for _ in 0..<1000 {
                // Below what the system takes for outgoing connections, which hold their ports for a while.
                let port = Int.random(in: 10_000..<32_000)
                if let first = try? listening(on: port), let second = try? listening(on: port + 1) {
                    return (first, second)
                }
            }
            throw Broken(call: "listen on two")
        }

        var port: Int {
            var address = sockaddr_in()
            var size = socklen_t(MemoryLayout<sockaddr_in>.size)
            withUnsafeMutablePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { _ = getsockname(descriptor, $0, &size) }
            }
            return Int(in_port_t(bigEndian: address.sin_port))
        }

        func accepted() throws -> Socket {
            let descriptor = accept(descriptor, nil, nil)
            guard descriptor >= 0 else { throw Broken(call: "accept") }
            return Socket(descriptor)
        }

        func read(_ count: Int) throws -> [UInt8] {
            var bytes: [UInt8] = []
            while bytes.count < count { bytes += try readSome(count - bytes.count) }
            return bytes
        }

        func readSome(_ count: Int = 4096) throws -> [UInt8] {
            var buffer = [UInt8](repeating: 0, count: count)
            let read = recv(descriptor, &buffer, count, 0)
            guard read > 0 else { throw Broken(call: "recv") }
            return Array(buffer[..<read])
        }

        /// A command or an answer of a TPM: its size stands in its header.
        func readMessage() throws -> [UInt8] {
            let header = try read(10)
            let size = header[2..<6].reduce(0) { $0 << 8 | Int($1) }
            guard (10...65536).contains(size) else { throw Broken(call: "size") }
            return try header + read(size - 10)
        }

        func write(_ bytes: [UInt8]) throws {
            var rest = bytes[...]
            while !rest.isEmpty {
                let written = rest.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
                guard written > 0 else { throw Broken(call: "send") }
                rest.removeFirst(written)
            }
        }

        /// Ends what blocks in a call on this, also a call that is still to come.
        func stop() { shutdown(descriptor, Int32(SHUT_RDWR)) }
    }
#endif
