internal import Foundation

extension KeyServiceFolder {
    /// Accepts that the database is an older one. Each key is left at most one guess, because a thief may have used the
    /// others. No server may run.
    ///
    /// - Throws: ``KeyServiceServerError`` with code `busy` if a server uses the folder, `configurationInvalid`,
    ///   `storeTooNew` or `storeUnusable`.
    public func acceptRollback() async throws {
        let store = try openLocked()
        defer { store.close() }
        try await acceptRollback(of: store)
    }

    /// Puts a backup in the place of the database, and accepts that it is older. No server may run. The database before
    /// is kept as `keys.sqlite.before-restore`, also if it is damaged.
    ///
    /// - Parameter backup: the path of a file that ``SQLiteKeyRecordStore/backUp(to:)`` made. It stays as it is.
    /// - Throws: ``KeyServiceServerError`` with code `configurationInvalid` if the backup does not belong to the master
    ///   key, or an earlier `keys.sqlite.before-restore` exists; `busy` if a server uses the folder; `storeTooNew` or
    ///   `storeUnusable` if the backup is of a newer version, or damaged. Then the database is the old one.
    public func restore(from backup: String) async throws {
        try PrivateFile.prepareFolder(path: path, mayCreate: true)
        let lock = try FolderLock(path: path + "/server.lock")
        defer { lock.release() }
        let kept = databasePath + ".before-restore"
        guard access(kept, F_OK) != 0 else {
            throw KeyServiceServerError(
                .configurationInvalid, "\(kept) exists, from an earlier restore. Move it away first.")
        }
        let new = databasePath + ".restoring"
        for file in [new, new + "-wal", new + "-shm"] { unlink(file) }
        try copy(backup, to: new)
        do {
            try await prepare(new, lock)
        } catch {
            for file in [new, new + "-wal", new + "-shm"] { unlink(file) }
            throw error
        }
        // The old database and its write-ahead log belong together. At each step, one whole pair of them has a name.
        if access(databasePath, F_OK) == 0, link(databasePath, kept) != 0 { throw cannotMove(databasePath) }
        let log = databasePath + "-wal"
        if access(log, F_OK) == 0, rename(log, kept + "-wal") != 0 { throw cannotMove(log) }
        unlink(databasePath + "-shm")
        guard rename(new, databasePath) == 0, PrivateFile.syncFolder(of: databasePath) else {
            throw cannotMove(new)
        }
    }

    /// Checks a copy of a backup, and leaves each of its keys one guess.
    private func prepare(_ new: String, _ lock: FolderLock) async throws {
        let store = try SQLiteKeyRecordStore(path: new, for: .serve(lock))
        defer { store.close(keepingLock: true) }
        try store.checkIntegrity()
        let state = try await store.state()
        _ = try masterKeys().match(state.masterKeys)
        try makeSecretsFolder()
        // The mark comes first. If this process dies before the database is in its place, the old database is refused,
        // and this command can be typed again.
        try await HighWaterMark.replace(highWaterMarkPath, for: state) { generation in
            try await store.acceptRollback(generation: generation)
            return try await store.state()
        }
    }

    private func copy(_ source: String, to target: String) throws {
        guard let content = FileHandle(forReadingAtPath: source) else {
            throw KeyServiceServerError(.configurationInvalid, "The backup \(source) cannot be read.")
        }
        let file = try PrivateFile.create(path: target)
        do {
            let copy = FileHandle(fileDescriptor: file.number, closeOnDealloc: false)
            while let part = try content.read(upToCount: 1 << 20), !part.isEmpty { try copy.write(contentsOf: part) }
            try copy.synchronize()
        } catch {
            unlink(target)
            throw KeyServiceServerError(
                .storeUnusable, "The backup cannot be copied to \(target).", underlying: error)
        }
    }

    private func cannotMove(_ path: String) -> KeyServiceServerError {
        KeyServiceServerError(.storeUnusable, "\(path) cannot be renamed (error \(errno)).")
    }
}
