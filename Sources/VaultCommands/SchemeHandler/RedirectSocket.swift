internal import CLinux
internal import CredentialVault
internal import Dispatch
internal import Foundation
internal import VaultAgentProtocol

/// A socket in a private folder. It passes a redirect from the program that the desktop started to the program that
/// waits. Both ends accept only the same user.
final class RedirectSocket: @unchecked Sendable {
    // Sound: the source is not changed after init, and Dispatch allows any thread to cancel a source.
    private let source: any DispatchSourceRead

    /// The longest redirect, in bytes.
    private static let limit = 16 * 1024
    private static let queue = DispatchQueue(label: "credential-vault.redirect")

    /// - Parameters:
    ///   - path: the socket to make.
    ///   - receive: called with each redirect, perhaps more than once.
    init(path: String, receive: @escaping @Sendable (String) -> Void) throws {
        let descriptor = try Self.open(path, Foundation.bind)
        guard chmod(path, 0o600) == 0, listen(descriptor, 8) == 0 else {
            close(descriptor)
            throw SchemeHandler.failure("\(path) cannot be listened on")
        }
        source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: Self.queue)
        source.setEventHandler { @Sendable in Self.take(from: descriptor, receive) }
        source.setCancelHandler { @Sendable in close(descriptor) }
        source.activate()
    }

    func stop() { source.cancel() }

    private static func take(from listener: Int32, _ receive: (String) -> Void) {
        let descriptor = accept(listener, nil, nil)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        guard isOwn(descriptor) else { return }
        setTimeout(descriptor)
        guard let line = line(from: descriptor) else { return }
        _ = Foundation.write(descriptor, "\n", 1)
        receive(line)
    }

    /// Hands `url` to the program that waits at `path`.
    ///
    /// - Throws: `VaultError` with code `notLoggedIn` if no program waits.
    static func send(_ url: String, to path: String) throws {
        let nobody = VaultError(.notLoggedIn, "No sign-in is waiting for this. Start again: vault register")
        guard let descriptor = try? open(path, Foundation.connect) else { throw nobody }
        defer { close(descriptor) }
        guard isOwn(descriptor) else { throw nobody }
        setTimeout(descriptor)
        let bytes = Array((url + "\n").utf8)
        guard bytes.count <= limit, Foundation.write(descriptor, bytes, bytes.count) == bytes.count,
            line(from: descriptor) != nil
        else { throw nobody }
    }

    // MARK: - The calls

    private static func open(
        _ path: String, _ use: (Int32, UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) throws -> Int32 {
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw SchemeHandler.failure("no socket can be made") }
        let status = AgentSocket.withAddress(path) { use(descriptor, $0, $1) }
        guard status == 0 else {
            close(descriptor)
            throw SchemeHandler.failure(
                status == nil ? "the path \(path) is too long for a socket" : "the socket \(path) cannot be used")
        }
        return descriptor
    }

    private static func isOwn(_ descriptor: Int32) -> Bool {
        PeerCredentials(of: descriptor)?.user == getuid()
    }

    /// A client that connects and sends nothing must not block the sign-in.
    private static func setTimeout(_ descriptor: Int32) {
        var time = timeval(tv_sec: 2, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &time, socklen_t(MemoryLayout<timeval>.size))
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &time, socklen_t(MemoryLayout<timeval>.size))
    }

    private static func line(from descriptor: Int32) -> String? {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while bytes.count <= limit {
            let count = read(descriptor, &buffer, buffer.count)
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else { return nil }
            bytes += buffer.prefix(count)
            if let end = bytes.firstIndex(of: UInt8(ascii: "\n")) {
                return String(decoding: bytes[..<end], as: UTF8.self)
            }
        }
        return nil
    }
}
