internal import Foundation
internal import VaultBase
internal import VaultCrypto
internal import VaultStorage

/// Writes a backup into a file without a name. The file gets its name when it is complete and durable. If the file
/// system has no files without names, the file has a draft name until then.
package actor BackupWriter {
    private let path: String
    /// The draft name; nil for none.
    private let draft: String?
    private let descriptor: CInt
    private let sealer: StreamSealer
    private var buffer: [UInt8] = []
    private var isOver = false

    /// - Parameters:
    ///   - path: the path of the backup. Nothing may be there.
    /// - Throws: ``VaultError`` with code `configurationInvalid` if something is there, or if the folder cannot be
    ///   written: choose another path.
    init(path: String, header: BackupHeader, key: borrowing SecretBytes) throws {
        self.path = path
        try Self.requireFree(path)
        sealer = try StreamSealer(key: key, context: header.context)
        var descriptor = open(Self.folder(of: path), Self.withoutName | O_WRONLY | O_CLOEXEC, 0o600)
        if descriptor >= 0 {
            draft = nil
        } else {
            let name = path + ".new-\(UUID().uuidString.prefix(8))"
            descriptor = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
            draft = name
        }
        self.descriptor = descriptor
        guard descriptor >= 0 else { throw Self.unusable(path, errno) }
        try Self.write(header.bytes + sealer.head, to: descriptor)
    }

    deinit {
        close(descriptor)
        if let draft, !isOver { unlink(draft) }
    }

    package func add(_ record: BackupRecord) throws {
        buffer += record.bytes
        // Only if more bytes follow: the last chunk is sealed differently.
        while buffer.count > SealedStream.chunkSize {
            let chunk = Array(buffer.prefix(SealedStream.chunkSize))
            buffer.removeFirst(chunk.count)
            try Self.write(sealer.seal(chunk, isLast: false), to: descriptor)
        }
    }

    /// Ends the backup and gives it its name.
    package func finish() async throws {
        try add(.end)
        try Self.write(sealer.seal(buffer, isLast: true), to: descriptor)
        FaultPoint.backupWritten.reach()
        let (descriptor, draft, path) = (descriptor, draft, path)
        try await onThread {
            guard fsync(descriptor) == 0 else { throw Self.failure(errno) }
            try Self.requireFree(path)
            let status =
                draft.map { rename($0, path) }
                ?? linkat(AT_FDCWD, "/proc/self/fd/\(descriptor)", AT_FDCWD, path, AT_SYMLINK_FOLLOW)
            guard status == 0 else { throw Self.failure(errno) }
            let folder = open(Self.folder(of: path), O_RDONLY | O_DIRECTORY | O_CLOEXEC)
            // Some file systems cannot sync a folder. The backup is good without it.
            if folder >= 0 {
                fsync(folder)
                close(folder)
            }
        }
        isOver = true
    }

    /// The value of `O_TMPFILE`, a macro that Swift does not see.
    private static let withoutName = 0o20_000_000 | O_DIRECTORY

    /// NSString's function of this name stops the program if a path has one character only.
    private static func folder(of path: String) -> String {
        URL(fileURLWithPath: path).deletingLastPathComponent().path
    }

    /// Refuses a path that exists: an older backup may be the only good one.
    ///
    /// - Throws: ``VaultError`` with code `configurationInvalid`: choose another path.
    package static func requireFree(_ path: String) throws {
        var info = stat()
        guard lstat(path, &info) != 0 else {
            throw VaultError(
                .configurationInvalid, "The file \(path) already exists. Nothing was written. Choose another name.")
        }
    }

    /// Refuses a path where no backup can be written, before a person types a secret. The disk may still be full later.
    ///
    /// - Throws: ``VaultError`` with code `configurationInvalid`: choose another path.
    package static func requireWritable(_ path: String) throws {
        try requireFree(path)
        guard access(folder(of: path), W_OK | X_OK) == 0 else { throw unusable(path, errno) }
    }

    private static func unusable(_ path: String, _ code: CInt) -> VaultError {
        VaultError(
            .configurationInvalid, "The backup \(path) cannot be written: \(message(code)). Choose another place.")
    }

    private static func write(_ bytes: [UInt8], to descriptor: CInt) throws {
        if let number = writeAll(bytes, to: descriptor) { throw failure(number) }
    }

    private static func failure(_ code: CInt) -> VaultError {
        VaultError(
            .storeUnreadable,
            "The backup cannot be written: \(message(code)). No backup was made. Correct this, then try again.")
    }

    private static func message(_ code: CInt) -> String {
        switch code {
        case ENOSPC, EDQUOT: "the disk is full"
        case ENOENT, ENOTDIR: "its folder does not exist"
        case EACCES, EPERM: "permission denied"
        case EROFS: "the disk is read-only"
        default: "error \(code)"
        }
    }
}
