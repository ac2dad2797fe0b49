internal import Glibc
internal import VaultAgentProtocol
internal import VaultStorage

/// The socket that the agent listens on. Only this user can reach it, and only one agent at a time uses it.
package final class AgentListener: Sendable {
    let descriptor: Int32
    /// The path of the socket; nil if systemd made the socket.
    private let path: String?
    private let lock: Int32
    private let identity: FileIdentity?

    /// Makes the socket.
    ///
    /// - Parameter path: the result of ``AgentSocket/path(runtimeFolder:accountsFolder:)``.
    /// - Throws: ``VaultError`` with code `busy` if another agent runs, or `configurationInvalid` if the folder is not
    ///   safe.
    package convenience init(path: String) throws {
        let folder = String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)])
        mkdir(folder, 0o700)
        var status = stat()
        guard lstat(folder, &status) == 0, status.st_mode & S_IFMT == S_IFDIR, status.st_uid == geteuid(),
            status.st_mode & 0o077 == 0
        else {
            throw VaultError(
                .configurationInvalid,
                "The agent cannot use \(folder), because other users can. Check XDG_RUNTIME_DIR, then change the folder's mode to 700.",
                detail: .agentFolderOpen, value: folder)
        }
        // Two agents that start at once must not both use the socket's path. The lock ends with its process.
        let lock = open(path + ".lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard lock >= 0, flock(lock, LOCK_EX | LOCK_NB) == 0, Self.isFree(path) else {
            if lock >= 0 { close(lock) }
            throw VaultError(.busy, "An agent runs already.", detail: .agentRuns)
        }
        unlink(path)
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        let mask = umask(0o177)
        let isBound =
            descriptor >= 0 && AgentSocket.withAddress(path) { bind(descriptor, $0, $1) } == 0
            && listen(descriptor, 1024) == 0
        umask(mask)
        guard isBound else {
            let code = errno
            if descriptor >= 0 { close(descriptor) }
            close(lock)
            throw VaultError(
                .configurationInvalid, "The agent cannot listen at \(path) (error \(code)). Check XDG_RUNTIME_DIR.")
        }
        self.init(descriptor, path, lock)
    }

    /// Whether no process listens at a path. systemd, or an agent that systemd started, listens there without the lock.
    private static func isFree(_ path: String) -> Bool {
        do {
            _ = try AgentConnection(path: path, timeout: 1)
            return false
        } catch {
            if case .unreachable = error { return true }
            return false
        }
    }

    /// Takes the socket that systemd made for this process (sd_listen_fds(3)).
    ///
    /// - Parameters:
    ///   - listeners: `LISTEN_FDS`.
    ///   - process: `LISTEN_PID`.
    /// - Returns: nil if systemd made none.
    package convenience init?(listeners: String?, process: String?) {
        guard let listeners, let process, Int32(process) == getpid(), Int32(listeners) == 1 else { return nil }
        let first: Int32 = 3
        _ = fcntl(first, F_SETFD, FD_CLOEXEC)
        self.init(first, nil, -1)
    }

    private init(_ descriptor: Int32, _ path: String?, _ lock: Int32) {
        // Only epoll may wait.
        _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
        (self.descriptor, self.path, self.lock) = (descriptor, path, lock)
        identity = path.flatMap(FileIdentity.init(of:))
    }

    /// Whether clients still reach this socket and not another agent's. A socket from systemd always counts as
    /// reachable.
    package var isReachable: Bool { path.map { FileIdentity(of: $0) == identity } ?? true }

    /// Removes the socket, unless another agent's socket has replaced it.
    package func remove() {
        if let path, isReachable { unlink(path) }
    }

    deinit {
        close(descriptor)
        if lock >= 0 { close(lock) }
    }
}
