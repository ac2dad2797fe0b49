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
        try await acceptRollback(store)
    }

    private func acceptRollback(_ store: SQLiteKeyRecordStore) async throws {
        // A damaged mark is replaced: this call is the way out of it.
        let known = (try? HighWaterMark(path: highWaterMarkPath))?.generation ?? 0
        let state = try await store.state()
        let generation = max(known, state.generation) + HighWaterMark.step
        try await store.acceptRollback(generation: generation)
        unlink(highWaterMarkPath)
        try HighWaterMark(path: highWaterMarkPath).raise(to: await store.state())
    }

    /// Puts a backup in the place of the database, and accepts that it is older. No server may run. The database before
    /// is kept as `keys.sqlite.before-restore`.
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
        if access(databasePath, F_OK) == 0 {
            // It moves what is in the write-ahead log into the database, and removes the log.
            try SQLiteKeyRecordStore(path: databasePath, for: .operate).close()
            guard rename(databasePath, kept) == 0 else { throw cannotMove(databasePath) }
        }
        for file in [databasePath + "-wal", databasePath + "-shm"] { unlink(file) }
        guard rename(new, databasePath) == 0, PrivateFile.syncFolder(of: databasePath) else {
            throw cannotMove(new)
        }
        let store = try SQLiteKeyRecordStore(path: databasePath, for: .operate)
        defer { store.close() }
        unlink(highWaterMarkPath)
        try HighWaterMark(path: highWaterMarkPath).raise(to: await store.state())
    }

    /// Checks a copy of a backup, and leaves each of its keys one guess.
    private func prepare(_ new: String, _ lock: FolderLock) async throws {
        let store = try SQLiteKeyRecordStore(path: new, for: .serve(lock))
        defer { store.close(keepingLock: true) }
        try store.checkIntegrity()
        let state = try await store.state()
        _ = try masterKeys().match(state.masterKeys)
        let known = (try? HighWaterMark(path: highWaterMarkPath))?.generation ?? 0
        try await store.acceptRollback(generation: max(known, state.generation) + HighWaterMark.step)
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
