internal import Dispatch
internal import Glibc
internal import VaultBase

/// The user at the other end of a connection on this machine.
package enum Peer: Hashable, Sendable {
    /// This process's user.
    case own
    /// Another user, possibly root.
    case other(user: UInt32)
    /// The user is unknown: the socket is not listed, or its user is outside this process's user namespace.
    case unknown
}

/// A lookup of the users whose sockets are connected to this process.
///
/// A table is read on its own thread, one reading at a time. One reading answers all waiting queries, so a flood of
/// connections costs neither more readings nor more passes over a table.
final class PeerLookup: Sendable {
    /// A connection, seen from the other end.
    struct Query: Sendable {
        let remote: PeerTable.End
        let local: PeerTable.End
    }

    private struct Waiting: Sendable {
        let query: Query
        var attempts = 0
        let answer: @Sendable (Peer) -> Void
    }

    private struct State: Sendable {
        var waiting: [Waiting] = []
        var isReading = false
    }

    /// The tables are not snapshots: a reading can miss a row while others come and go.
    private static let mostAttempts = 3

    private let state = Lock(State())
    private let queue = DispatchQueue(label: "credential-vault.peers")
    private let tables: @Sendable () -> [[UInt8]]
    private let user: UInt32
    private let knowsAllUsers: Bool

    /// - Parameters:
    ///   - tables: the kernel's tables, read at each call.
    ///   - knowsAllUsers: whether each user of the machine has its own number in this process's user namespace.
    init(
        user: UInt32 = geteuid(), knowsAllUsers: Bool = UserNamespace.hasAllUsers,
        tables: @escaping @Sendable () -> [[UInt8]] = { PeerFiles.tables }
    ) {
        self.tables = tables
        self.user = user
        self.knowsAllUsers = knowsAllUsers
    }

    /// Calls `answer` once, on another thread.
    func find(_ query: Query, _ answer: @escaping @Sendable (Peer) -> Void) {
        let starts = state.withLock { state in
            state.waiting.append(Waiting(query: query, answer: answer))
            defer { state.isReading = true }
            return !state.isReading
        }
        if starts { queue.async { @Sendable in self.readUntilNobodyWaits() } }
    }

    private func readUntilNobodyWaits() {
        while true {
            let waiting = state.withLock { state in
                defer { state.waiting = [] }
                if state.waiting.isEmpty { state.isReading = false }
                return state.waiting
            }
            guard !waiting.isEmpty else { return }
            let table = PeerTable(tables())
            for var one in waiting {
                one.attempts += 1
                if let peer = peer(one.query, in: table) {
                    one.answer(peer)
                } else if one.attempts == Self.mostAttempts {
                    one.answer(.unknown)
                } else {
                    let again = one
                    state.withLock { $0.waiting.append(again) }
                }
            }
        }
    }

    /// Finds the peer; nil if it is not listed.
    private func peer(_ query: Query, in table: PeerTable) -> Peer? {
        var rows = table.rows(from: query.remote, to: query.local)
        if query.remote.address.count == 4 {
            rows += table.rows(from: query.remote.mapped, to: query.local.mapped)
        }
        // Without an inode, the process has closed the socket, and the user means nothing.
        let users = Set(rows.filter { $0.inode != 0 }.map(\.user))
        guard let found = users.first, users.count == 1 else { return users.isEmpty ? nil : .unknown }
        if found == PeerFiles.overflowUser && !knowsAllUsers { return .unknown }
        return found == user ? .own : .other(user: found)
    }
}

/// The kernel's files in `/proc`.
enum PeerFiles {
    /// The number for users without one in this process's user namespace (user_namespaces(7)).
    static let overflowUser: UInt32 = 65_534

    /// The largest file, in bytes: enough for a hundred thousand sockets.
    private static let largest = 16 << 20

    static var tables: [[UInt8]] { ["/proc/net/tcp", "/proc/net/tcp6"].compactMap(contents) }

    /// Reads a file; nil if it cannot be read, or is too large.
    private static func contents(_ path: String) -> [UInt8]? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = read(descriptor, &buffer, buffer.count)
            if count == 0 { return bytes }
            guard count > 0 || errno == EINTR, bytes.count + max(count, 0) <= largest else { return nil }
            bytes += buffer[..<max(count, 0)]
        }
    }
}
