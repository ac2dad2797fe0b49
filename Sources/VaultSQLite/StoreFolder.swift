internal import Foundation
internal import VaultBase
internal import VaultStorage

/// The folder of the store. It must belong to the user who runs the program, and to nobody else.
struct StoreFolder: Sendable {
    let path: String

    var database: String { path + "/vault.sqlite" }

    /// Makes the folder with mode 0700 if it does not exist. Refuses a folder that others own or may enter.
    init(preparing path: String) throws {
        self.path = path
        if !Self.isFolder(path) { try Self.make(path) }
        try Self.requirePrivate(path, kind: S_IFDIR, mode: "700")
    }

    private static func make(_ path: String) throws {
        // In one step: FileManager makes it open to others first, and another process could see it then.
        let parent = URL(fileURLWithPath: path).deletingLastPathComponent().path(percentEncoded: false)
        try? FileManager.default.createDirectory(
            atPath: parent, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        mkdir(path, 0o700)
        do {
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw StoreError(
                .unreadable,
                "The folder \(path) cannot be made: \(reason(error)). Correct this, or choose another folder.",
                underlying: error)
        }
    }

    private static func isFolder(_ path: String) -> Bool {
        var info = stat()
        return lstat(path, &info) == 0 && info.st_mode & S_IFMT == S_IFDIR
    }

    /// A folder that is there already. Refuses one that others own or may enter.
    init(existing path: String) throws {
        self.path = path
        try Self.requirePrivate(path, kind: S_IFDIR, mode: "700")
    }

    /// Refuses the database and SQLite's files beside it if others own them or may read them.
    func requirePrivateFiles() throws {
        for suffix in ["", "-wal", "-shm"] {
            do {
                try Self.requirePrivate(database + suffix, kind: S_IFREG, mode: "600")
            } catch let error as StoreError where error.isMissingFile {
                continue
            }
        }
    }

    /// Whether there is a database, even an empty file.
    var hasDatabase: Bool {
        var info = stat()
        return lstat(database, &info) == 0
    }

    /// Whether SQLite's log is there without a database. Another process may be making the database now.
    var hasLogWithoutDatabase: Bool {
        var info = stat()
        return lstat(database + "-wal", &info) == 0 && !hasDatabase
    }

    private static func requirePrivate(_ path: String, kind: mode_t, mode: String) throws {
        var info = stat()
        guard lstat(path, &info) == 0 else {
            let code = errno
            throw StoreError(
                .unreadable, "\(path) cannot be read: \(Self.message(code)).",
                underlying: POSIXError(.init(rawValue: code) ?? .EIO))
        }
        guard info.st_mode & S_IFMT == kind else {
            throw StoreError(
                .unsafePermissions,
                "\(path) is not a \(kind == S_IFDIR ? "folder" : "regular file"), or it is a link. Choose another folder."
            )
        }
        guard info.st_uid == geteuid() else {
            throw StoreError(
                .unsafePermissions,
                "\(path) belongs to another user (id \(info.st_uid)). Choose another folder, or change its owner.",
                detail: .fileOfOtherUser, value: path)
        }
        guard info.st_mode & 0o077 == 0 else {
            throw StoreError(
                .unsafePermissions, "\(path) is open to other users. Change its mode to \(mode).",
                detail: kind == S_IFDIR ? .folderOpenToOthers : .fileOpenToOthers, value: path)
        }
    }

    static func message(_ code: Int32) -> String { SystemError.words(code) }

    private static func reason(_ error: any Error) -> String {
        switch (error as? CocoaError)?.code {
        case .fileWriteVolumeReadOnly: "the disk is read-only"
        case .fileWriteNoPermission: "permission denied"
        case .fileWriteOutOfSpace: "the disk is full"
        case .fileWriteFileExists: "a file is in its place"
        default: "it cannot be written"
        }
    }
}

extension StoreError {
    fileprivate var isMissingFile: Bool { (underlying as? POSIXError)?.code == .ENOENT }
}
