// The compiler may find struct stat in this module, if another file of the target imports Dispatch.
internal import CDispatch
internal import CLinux
internal import Foundation

/// Files and folders that only their owner may read.
package enum PrivateFile {
    /// A file descriptor that is closed at the end of its life.
    package struct Descriptor: ~Copyable {
        package let number: CInt

        package init(number: CInt) { self.number = number }

        deinit { Foundation.close(number) }

        package consuming func close() {}
    }

    /// Makes a new empty file of mode 0600.
    ///
    /// - Throws: ``KeyServiceServerError`` with code `configurationInvalid` if it exists or cannot be made.
    package static func create(path: String) throws -> Descriptor {
        let number = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        if number < 0 {
            let reason = errno
            throw KeyServiceServerError(
                .configurationInvalid,
                reason == EEXIST ? exists(path) : "\(path) cannot be made (error \(reason)).")
        }
        return Descriptor(number: number)
    }

    /// Refuses a path that something has.
    ///
    /// - Throws: ``KeyServiceServerError`` with code `configurationInvalid`.
    package static func requireNothing(at path: String) throws {
        var status = stat()
        if lstat(path, &status) == 0 { throw KeyServiceServerError(.configurationInvalid, exists(path)) }
    }

    /// Gives a finished file its durable name, and overwrites nothing.
    ///
    /// - Throws: ``KeyServiceServerError`` with code `configurationInvalid` if something has the name, or if the file
    ///   cannot have it durably. Then the file has not got the name.
    package static func rename(_ old: String, to path: String) throws {
        var reason = linux_rename_to_free_name(old, path) == 0 ? 0 : errno
        if reason == EINVAL || reason == ENOSYS {
            // A file system in the network may have links only.
            reason = link(old, path) == 0 ? 0 : errno
            if reason == 0 {
                unlink(old)
            } else if [EPERM, EOPNOTSUPP, ENOSYS].contains(reason) {
                // A file system in user space, for example for cloud storage, may have neither. There, a file that
                // somebody makes at this moment is overwritten.
                try requireNothing(at: path)
                reason = Foundation.rename(old, path) == 0 ? 0 : errno
            }
        }
        guard reason == 0 else {
            throw KeyServiceServerError(
                .configurationInvalid, reason == EEXIST ? exists(path) : "\(path) cannot be made (error \(reason)).")
        }
        guard syncFolder(of: path) else {
            let reason = errno
            unlink(path)
            throw KeyServiceServerError(
                .configurationInvalid, "The folder of \(path) cannot be written (error \(reason)).")
        }
    }

    private static func exists(_ path: String) -> String { "\(path) already exists, and is not overwritten." }

    /// Makes the name of a new file durable.
    package static func syncFolder(of path: String) -> Bool {
        let number = open(URL(fileURLWithPath: path).deletingLastPathComponent().path, O_RDONLY | O_CLOEXEC)
        guard number >= 0 else { return false }
        defer { close(number) }
        return fsync(number) == 0
    }

    /// Makes a folder of mode 0700, or checks that an existing one is closed to others.
    package static func prepareFolder(path: String, mayCreate: Bool) throws {
        if mayCreate, mkdir(path, 0o700) != 0, errno != EEXIST {
            throw KeyServiceServerError(.configurationInvalid, "The folder \(path) cannot be made (error \(errno)).")
        }
        try requirePrivate(path: path, kind: S_IFDIR, forbidden: 0o077, ifMissing: .makeFolder)
    }

    /// Makes an empty database file if there is none, or checks that the existing one is closed to others.
    package static func prepareDatabase(path: String, mayCreate: Bool) throws {
        if mayCreate, access(path, F_OK) != 0 { try create(path: path).close() }
        try requirePrivate(path: path, kind: S_IFREG, forbidden: 0o077, ifMissing: .restoreBackup)
    }

    /// Refuses a path of the wrong kind, of another user, or with one of the `forbidden` permissions.
    ///
    /// - Parameters:
    ///   - remedy: what helps if nothing has this path.
    ///   - sentence: a further sentence for a person if nothing has this path.
    package static func requirePrivate(
        path: String, kind: UInt32, forbidden: UInt32, ifMissing remedy: Remedy? = nil, _ sentence: String? = nil
    ) throws {
        var status = stat()
        guard stat(path, &status) == 0 else {
            let reason = errno
            guard reason == ENOENT else {
                throw KeyServiceServerError(.configurationInvalid, "\(path) cannot be read (error \(reason)).")
            }
            throw KeyServiceServerError(
                .configurationInvalid, "\(path) does not exist." + (sentence.map { " " + $0 } ?? ""), remedy: remedy)
        }
        guard status.st_mode & S_IFMT == kind else {
            throw KeyServiceServerError(
                .configurationInvalid, "\(path) is not a \(kind == S_IFDIR ? "folder" : "file").")
        }
        guard status.st_uid == geteuid() || status.st_uid == 0 else {
            throw KeyServiceServerError(.configurationInvalid, "\(path) belongs to another user.")
        }
        guard status.st_mode & forbidden == 0 else {
            throw KeyServiceServerError(
                .configurationInvalid, "\(path) is open to other users.",
                remedy: .close(path: path, mode: kind == S_IFDIR ? "700" : "600"))
        }
    }
}
