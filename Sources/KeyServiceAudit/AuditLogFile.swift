// The compiler finds struct stat in this module if another file of the target imports Dispatch.
internal import CDispatch
internal import Foundation
internal import KeyServiceCore
internal import VaultBase

/// The file with the lines of an audit log, open for one batch. It is opened again for each batch, so that a renamed
/// file needs no signal.
struct AuditLogFile: ~Copyable {
    private let path: String
    private let file: PrivateFile.Descriptor

    /// Opens the file. Makes it if it is absent.
    init(path: String) throws {
        let isNew = access(path, F_OK) != 0
        let number = open(path, O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard number >= 0 else {
            throw KeyServiceServerError(.storeUnusable, "\(path) cannot be opened (error \(errno)).")
        }
        guard !isNew || PrivateFile.syncFolder(of: path) else {
            close(number)
            throw KeyServiceServerError(.storeUnusable, "\(path) cannot be made (error \(errno)).")
        }
        self.path = path
        file = PrivateFile.Descriptor(number: number)
    }

    private init(_ file: consuming PrivateFile.Descriptor, path: String) {
        self.path = path
        self.file = file
    }

    /// Returns the identity and the size of the file.
    func status() throws -> (file: AuditState.File, size: UInt64) {
        var status = stat()
        guard fstat(file.number, &status) == 0 else {
            throw KeyServiceServerError(.storeUnusable, "\(path) cannot be read (error \(errno)).")
        }
        return (.init(device: UInt64(status.st_dev), inode: UInt64(status.st_ino)), UInt64(status.st_size))
    }

    /// Appends lines, and makes them durable. If that fails, removes the part that was written.
    func append(_ lines: some Collection<UInt8>, at end: UInt64) throws {
        let failure = writeAll(lines, to: file.number) ?? (fdatasync(file.number) == 0 ? nil : errno)
        if let reason = failure {
            ftruncate(file.number, off_t(end))
            throw KeyServiceServerError(.storeUnusable, "\(path) cannot be written (error \(reason)).")
        }
    }

    /// Completes the log file after a crash or a full disk: adds the newest lines of the state that are missing.
    ///
    /// - Returns: whether somebody else changed the log file. Then nothing is repaired: `audit verify` shows it.
    func complete(_ state: inout AuditState, in stateFile: borrowing AuditStateFile) throws -> Bool {
        let (this, size) = try status()
        if state.isSettled { return size != (this == state.file ? state.end : 0) }
        let wasChanged: Bool
        if this == state.file {
            wasChanged = try complete(state)
        } else if let moved = renamed(state.file) {
            wasChanged = try moved.complete(state)
        } else {
            // The file of the newest lines is gone, perhaps with these lines.
            try append(state.pending, at: size)
            wasChanged = state.file.inode != 0
        }
        stateFile.markSettled(state)
        state.isSettled = true
        return wasChanged
    }

    private func complete(_ state: borrowing AuditState) throws -> Bool {
        let size = try status().size
        guard size >= state.offset else {
            // An empty file is a new file. The old file is gone, and its inode number was used again.
            if size == 0 { try append(state.pending, at: 0) }
            return true
        }
        let present = try read(from: state.offset, count: state.pending.count)
        let same = zip(present, state.pending).prefix { $0 == $1 }.count
        if same == state.pending.count {
            try sync()
            return size != state.end
        }
        // A power failure may leave zeros in place of data that the system had not written yet.
        guard size <= state.end, present[same...].allSatisfy({ $0 == 0 }) else { return true }
        let end = state.offset + UInt64(same)
        guard ftruncate(file.number, off_t(end)) == 0 else {
            throw KeyServiceServerError(.storeUnusable, "\(path) cannot be written (error \(errno)).")
        }
        try append(state.pending[same...], at: end)
        return false
    }

    private func sync() throws {
        guard fdatasync(file.number) == 0 else {
            throw KeyServiceServerError(.storeUnusable, "\(path) cannot be written (error \(errno)).")
        }
    }

    private func read(from start: UInt64, count: Int) throws -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        let got = pread(file.number, &bytes, count, off_t(start))
        guard got >= 0 else {
            throw KeyServiceServerError(.storeUnusable, "\(path) cannot be read (error \(errno)).")
        }
        return Array(bytes.prefix(got))
    }

    /// Finds a file that was renamed in its folder.
    private func renamed(_ wanted: AuditState.File) -> AuditLogFile? {
        let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        for name in names {
            let number = open(folder + "/" + name, O_RDWR | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
            guard number >= 0 else { continue }
            let found = AuditLogFile(PrivateFile.Descriptor(number: number), path: folder + "/" + name)
            if (try? found.status().file) == wanted { return found }
        }
        return nil
    }
}
