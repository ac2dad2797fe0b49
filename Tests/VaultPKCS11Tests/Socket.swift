#if PKCS11
    import Foundation

    /// A connection or listener on a local socket, with calls that block: only for threads of a test's own.
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
            let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
            guard descriptor >= 0 else { throw Broken(call: "socket") }
            return Socket(descriptor)
        }

        private func with<R>(_ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> R) throws -> R {
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            let size = MemoryLayout.size(ofValue: address.sun_path)
            guard path.utf8.count < size else { throw Broken(call: "path") }
            withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
            return withUnsafePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
                }
            }
        }

        static func connected(to path: String) throws -> Socket {
            let socket = try make()
            guard try socket.with(path, { connect(socket.descriptor, $0, $1) }) == 0 else {
                throw Broken(call: "connect")
            }
            return socket
        }

        static func listening(on path: String) throws -> Socket {
            let socket = try make()
            guard try socket.with(path, { bind(socket.descriptor, $0, $1) }) == 0, listen(socket.descriptor, 16) == 0
            else { throw Broken(call: "listen") }
            return socket
        }

        func accepted() throws -> Socket {
            let descriptor = accept(descriptor, nil, nil)
            guard descriptor >= 0 else { throw Broken(call: "accept") }
            return Socket(descriptor)
        }

        func read(_ count: Int) throws -> [UInt8] {
            var bytes = [UInt8](repeating: 0, count: count)
            var done = 0
            while done < count {
                let read = bytes.withUnsafeMutableBytes {
                    recv(descriptor, $0.baseAddress.map { $0 + done }, count - done, 0)
                }
                guard read > 0 else { throw Broken(call: "recv") }
                done += read
            }
            return bytes
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
