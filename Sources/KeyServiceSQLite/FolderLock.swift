internal import CDispatch
internal import Foundation
internal import KeyServiceCore
internal import VaultBase

/// A lock of a data folder. It ends with the process.
final class FolderLock: Sendable {
    private let number: Lock<CInt>

    /// Keeps a second server away. Two processes could not evaluate the guesses on a key one at a time.
    ///
    /// - Throws: ``KeyServiceServerError`` with code `busy` if another process has the lock.
    convenience init(server folder: String) throws {
        try self.init(
            FolderLock.serverPath(folder), O_RDWR | O_CREAT | O_NOFOLLOW, LOCK_EX,
            busy: "Another key service uses this data folder. Stop that service first.")
    }

    /// Keeps a move of all keys, and the other commands that change keys, away from each other. The lock is on the
    /// folder itself, as its users may be different ones.
    ///
    /// - Throws: ``KeyServiceServerError`` with code `busy` if another process has the lock.
    convenience init(folder: String, toMove: Bool) throws {
        try self.init(
            folder, O_RDONLY | O_DIRECTORY, toMove ? LOCK_EX : LOCK_SH,
            busy: toMove
                ? "Another command uses this data folder. Type the command again."
                : "The keys of this data folder are being moved. Type the command again when the move has ended.")
    }

    private static func serverPath(_ folder: String) -> String { folder + "/server.lock" }

    /// Whether a server has the lock. A server that starts at this very moment may find the folder busy.
    static func isServed(_ folder: String) -> Bool {
        let number = open(serverPath(folder), O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
        guard number >= 0 else { return errno != ENOENT }
        defer { close(number) }
        return flock(number, LOCK_SH | LOCK_NB) != 0
    }

    private init(_ path: String, _ flags: CInt, _ kind: CInt, busy message: String) throws {
        let number = open(path, flags | O_CLOEXEC, 0o600)
        guard number >= 0 else {
            throw KeyServiceServerError(.configurationInvalid, "\(path) cannot be opened (error \(errno)).")
        }
        guard flock(number, kind | LOCK_NB) == 0 else {
            close(number)
            throw KeyServiceServerError(.busy, message)
        }
        self.number = Lock(number)
    }

    func release() {
        number.withLock { number in
            guard number >= 0 else { return }
            // Closing is not enough while a forked process has a copy of the descriptor.
            flock(number, LOCK_UN)
            close(number)
            number = -1
        }
    }

    deinit { release() }
}
