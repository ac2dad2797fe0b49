// The compiler may find struct stat in this module, if another file of the target imports Dispatch.
internal import CDispatch
internal import Foundation
internal import VaultLocks

/// Files and folders that only their owner may read.
enum PrivateFile {
    /// A file descriptor that is closed at the end of its life.
    struct Descriptor: ~Copyable {
        let number: CInt

        deinit { Foundation.close(number) }

        consuming func close() {}
    }

    /// Makes a new empty file of mode 0600.
    ///
    /// - Throws: ``KeyServiceServerError`` with code `configurationInvalid` if it exists or cannot be made.
    static func create(path: String) throws -> Descriptor {
        let number = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        if number < 0 {
            let reason = errno
            throw KeyServiceServerError(
                .configurationInvalid,
                reason == EEXIST
                    ? "\(path) already exists, and is not overwritten." : "\(path) cannot be made (error \(reason)).")
        }
        return Descriptor(number: number)
    }

    /// Makes the name of a new file durable.
    static func syncFolder(of path: String) -> Bool {
        let number = open(URL(fileURLWithPath: path).deletingLastPathComponent().path, O_RDONLY | O_CLOEXEC)
        guard number >= 0 else { return false }
        defer { close(number) }
        return fsync(number) == 0
    }

    /// Makes a folder of mode 0700, or checks that an existing one is closed to others.
    static func prepareFolder(path: String, mayCreate: Bool) throws {
        if mayCreate, mkdir(path, 0o700) != 0, errno != EEXIST {
            throw KeyServiceServerError(.configurationInvalid, "The folder \(path) cannot be made (error \(errno)).")
        }
        try requirePrivate(
            path: path, kind: S_IFDIR, forbidden: 0o077, advice: "chmod 700 \(path)",
            ifMissing: "Make a new data folder: vault-key-service init")
    }

    /// Makes an empty database file if there is none, or checks that the existing one is closed to others.
    static func prepareDatabase(path: String, mayCreate: Bool) throws {
        if mayCreate, access(path, F_OK) != 0 { try create(path: path).close() }
        try requirePrivate(
            path: path, kind: S_IFREG, forbidden: 0o077, advice: "chmod 600 \(path)",
            ifMissing: "Restore a backup (vault-key-service restore), or make a new data folder: vault-key-service init"
        )
    }

    /// Refuses a path of the wrong kind, of another user, or with one of the `forbidden` permissions.
    static func requirePrivate(
        path: String, kind: mode_t, forbidden: mode_t, advice: String, ifMissing: String
    ) throws {
        var status = stat()
        guard stat(path, &status) == 0 else {
            throw KeyServiceServerError(
                .configurationInvalid,
                errno == ENOENT
                    ? "\(path) does not exist. \(ifMissing)"
                    : "\(path) cannot be read (error \(errno)).")
        }
        guard status.st_mode & S_IFMT == kind else {
            throw KeyServiceServerError(
                .configurationInvalid, "\(path) is not a \(kind == S_IFDIR ? "folder" : "file").")
        }
        guard status.st_uid == geteuid() || status.st_uid == 0 else {
            throw KeyServiceServerError(.configurationInvalid, "\(path) belongs to another user.")
        }
        guard status.st_mode & forbidden == 0 else {
            throw KeyServiceServerError(.configurationInvalid, "\(path) is open to other users. Close it: \(advice)")
        }
    }
}

/// A lock of a data folder. It ends with the process.
final class FolderLock: Sendable {
    private let number: Lock<CInt>

    /// Keeps a second server away. Two processes could not evaluate the guesses on a key one at a time.
    ///
    /// - Throws: ``KeyServiceServerError`` with code `busy` if another process has the lock.
    convenience init(path: String) throws {
        try self.init(
            path, O_RDWR | O_CREAT | O_NOFOLLOW, LOCK_EX,
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
