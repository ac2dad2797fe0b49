import Foundation
import VaultBase

/// A message bus that accepts each connection and never answers.
final class SilentBus: Sendable {
    private let listener: Int32
    private let path: String
    private let accepted = Lock<[Int32]>([])
    /// The address of the bus.
    let address: String

    init() throws {
        path = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString).path
        address = "unix:path=\(path)"
        listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        var name = sockaddr_un()
        name.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &name.sun_path) { $0.copyBytes(from: path.utf8) }
        let bound = withUnsafePointer(to: &name) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard bound == 0, listen(listener, 5) == 0 else { throw POSIXError(.EIO) }
    }

    deinit {
        for descriptor in accepted.withLock({ $0 }) + [listener] { close(descriptor) }
        unlink(path)
    }

    /// Accepts this many connections. They stay open.
    func untilConnected(times: Int) async throws {
        let new = await withCheckedContinuation { continuation in
            Thread.detachNewThread { @Sendable [listener] in
                continuation.resume(returning: (0..<times).map { _ in accept(listener, nil, nil) })
            }
        }
        if new.contains(where: { $0 < 0 }) { throw POSIXError(.EIO) }
        accepted.withLock { $0 += new }
    }
}
