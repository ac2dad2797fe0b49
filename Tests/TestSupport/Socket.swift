internal import Foundation

/// A connection or listener on this machine, with calls that block. Use it only on the test's own threads.
package final class Socket: Sendable {
    package enum Address: Sendable {
        /// A local socket.
        case path(String)
        /// TCP on loopback.
        case port(Int)
    }

    package struct Broken: Error {
        /// The call that failed, and its `errno`.
        let call: String
        let number = errno

        package init(call: String) { self.call = call }
    }

    private let descriptor: Int32

    private init(_ descriptor: Int32) { self.descriptor = descriptor }

    deinit { close(descriptor) }

    package static func connected(to address: Address) throws -> Socket {
        try made(for: address, "connect") { connect($0, $1, $2) }
    }

    package static func listening(on address: Address) throws -> Socket {
        try made(for: address, "listen") { descriptor, address, size in
            bind(descriptor, address, size) == 0 ? listen(descriptor, 16) : -1
        }
    }

    private static func made(
        for address: Address, _ call: String, _ body: (Int32, UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) throws -> Socket {
        var bytes = sockaddr_storage()
        let size = try fill(&bytes, with: address)
        let descriptor = socket(
            Int32(bytes.ss_family), Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw Broken(call: "socket") }
        let made = Socket(descriptor)
        let status = withUnsafePointer(to: bytes) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body(descriptor, $0, size) }
        }
        guard status == 0 else { throw Broken(call: call) }
        return made
    }

    /// - Returns: how much of it is the address.
    private static func fill(_ storage: inout sockaddr_storage, with address: Address) throws -> socklen_t {
        try withUnsafeMutableBytes(of: &storage) { bytes in
            switch address {
            case .path(let path):
                var local = sockaddr_un()
                local.sun_family = sa_family_t(AF_UNIX)
                guard path.utf8.count < MemoryLayout.size(ofValue: local.sun_path) else { throw Broken(call: "path") }
                withUnsafeMutableBytes(of: &local.sun_path) { $0.copyBytes(from: path.utf8) }
                bytes.storeBytes(of: local, as: sockaddr_un.self)
                return socklen_t(MemoryLayout<sockaddr_un>.size)
            case .port(let port):
                var loopback = sockaddr_in()
                loopback.sin_family = sa_family_t(AF_INET)
                loopback.sin_port = in_port_t(port).bigEndian
                loopback.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
                bytes.storeBytes(of: loopback, as: sockaddr_in.self)
                return socklen_t(MemoryLayout<sockaddr_in>.size)
            }
        }
    }

    /// The port on which a TCP listener listens.
    package var port: Int {
        var address = sockaddr_in()
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { _ = getsockname(descriptor, $0, &size) }
        }
        return Int(in_port_t(bigEndian: address.sin_port))
    }

    package func accepted() throws -> Socket {
        let descriptor = accept(descriptor, nil, nil)
        guard descriptor >= 0 else { throw Broken(call: "accept") }
        return Socket(descriptor)
    }

    package func read(_ count: Int) throws -> [UInt8] {
        var bytes: [UInt8] = []
        while bytes.count < count { bytes += try readSome(count - bytes.count) }
        return bytes
    }

    package func readSome(_ count: Int = 4096) throws -> [UInt8] {
        var buffer = [UInt8](repeating: 0, count: count)
        let read = recv(descriptor, &buffer, count, 0)
        guard read > 0 else { throw Broken(call: "recv") }
        return Array(buffer[..<read])
    }

    package func write(_ bytes: [UInt8]) throws {
        var rest = bytes[...]
        while !rest.isEmpty {
            let written = rest.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            guard written > 0 else { throw Broken(call: "send") }
            rest.removeFirst(written)
        }
    }

    /// Ends calls that block on this socket, and all later calls.
    package func stop() { shutdown(descriptor, Int32(SHUT_RDWR)) }
}
