internal import Foundation
package import KeyServiceCore

extension KeyServiceFolder {
    /// Accepts that the database is an older one. Leaves each key at most one guess, because a thief may have used the
    /// other guesses. No server may run.
    ///
    /// - Throws: ``KeyServiceServerError`` with code `busy` if a server uses the folder, `configurationInvalid`,
    ///   `storeTooNew` or `storeUnusable`.
    package func acceptRollback() async throws {
        let store = try openLocked()
        defer { store.close() }
        try await acceptRollback(of: store)
    }

    /// Puts a backup in the place of the database, and accepts its older state. No server may run. The old database
    /// stays as `keys.sqlite.before-restore`, also if it is damaged. Keys under an older master key are sealed under
    /// the current one, so that a server needs only that one.
    ///
    /// - Parameters:
    ///   - backup: the path of a file that ``SQLiteKeyRecordStore/backUp(to:)`` made. It stays as it is.
    ///   - auditLog: the id of the audit log that has the line about this restore; nil for none. The store demands it
    ///     from then on, also if the present database is missing or damaged.
    /// - Returns: the keys that were sealed again, and those that are damaged.
    /// - Throws: ``KeyServiceServerError`` with code `configurationInvalid` if a master key of the backup is missing,
    ///   or an earlier `keys.sqlite.before-restore` exists; `busy` if a server uses the folder; `storeTooNew` or
    ///   `storeUnusable` if the backup is of a newer version or damaged, or a file cannot be written. If the database
    ///   does not exist after an error, call it again.
    @discardableResult
    package func restore(
        from backup: String, auditLog: [UInt8]? = nil
    ) async throws -> MasterKeyRotation.Outcome {
        try PrivateFile.prepareFolder(path: path, mayCreate: true)
        let lock = try FolderLock(server: path)
        defer { lock.release() }
        let kept = databasePath + ".before-restore"
        let hasDatabase = access(databasePath, F_OK) == 0
        // A finished restore leaves both files. Without a database, an interrupted restore continues here.
        guard !hasDatabase || access(kept, F_OK) != 0 else {
            throw KeyServiceServerError(
                .configurationInvalid, "\(kept) exists, from an earlier restore. Move it away first.")
        }
        let new = databasePath + ".restoring"
        for file in [new, new + "-wal", new + "-shm"] { unlink(file) }
        try copy(backup, to: new)
        let (state, outcome): (StoreState, MasterKeyRotation.Outcome)
        do {
            (state, outcome) = try await prepare(
                new, lock, newerIdentity: hasDatabase ? await presentIdentity() : nil,
                auditLogs: auditLogs() + (auditLog.map { [$0] } ?? []))
        } catch {
            for file in [new, new + "-wal", new + "-shm"] { unlink(file) }
            throw error
        }
        if hasDatabase { try move(databasePath, to: kept) }
        // The write-ahead log belongs to the old database.
        let log = databasePath + "-wal"
        if access(log, F_OK) == 0 { try move(log, to: kept + "-wal") }
        unlink(databasePath + "-shm")
        try move(new, to: databasePath)
        // The mark comes last. The new generation is above the old mark, so a server accepts the store also without it.
        try HighWaterMark.replace(highWaterMarkPath, by: state)
        return outcome
    }

    /// Returns the audit logs of the present database; none if it is missing or damaged.
    package func auditLogs() async -> [[UInt8]] {
        guard let store = try? SQLiteKeyRecordStore(path: databasePath, for: .operate(nil)) else { return [] }
        defer { store.close() }
        return (try? await store.auditLogs()) ?? []
    }

    /// Returns the identity in the database that is replaced; nil if the database is damaged or has none.
    private func presentIdentity() async -> StoredIdentity? {
        guard let store = try? SQLiteKeyRecordStore(path: databasePath, for: .operate(nil)) else { return nil }
        defer { store.close() }
        return try? await store.identity()
    }

    /// Checks a copy of a backup, seals its keys under the current master key, and leaves each of them at most one
    /// guess.
    ///
    /// - Parameters:
    ///   - newerIdentity: the identity of the old database. If the backup's identity signed the way to it, it stays:
    ///     clients that know it follow to no older one.
    ///   - auditLogs: the audit logs of the old database. They stay, because the backup may be older than them.
    private func prepare(
        _ new: String, _ lock: FolderLock, newerIdentity: StoredIdentity?, auditLogs: [[UInt8]]
    ) async throws -> (StoreState, MasterKeyRotation.Outcome) {
        let masterKeys = try masterKeys()
        let store = try SQLiteKeyRecordStore(path: new, for: .serve(lock))
        defer { store.close(keepingLock: true) }
        try store.checkIntegrity()
        let state = try await store.state()
        try await masterKeys.match(store)
        try makeSecretsFolder()
        try await keep(newerIdentity, in: store, masterKeys)
        let isOfOtherKeys = state.masterKeys.contains { $0.id != masterKeys.current.id }
        let outcome =
            isOfOtherKeys ? try await MasterKeyRotation(store, masterKeys).run() : MasterKeyRotation.Outcome()
        for log in auditLogs { try await store.addAuditLog(log) }
        try await store.acceptRollback(
            generation: HighWaterMark.next(highWaterMarkPath, after: state), now: Int64(Date().timeIntervalSince1970))
        // All changes must be in the one file that is moved.
        guard store.truncateLog() else {
            throw KeyServiceServerError(.storeUnusable, "The backup cannot be prepared. Perhaps the disk is full.")
        }
        return (try await store.state(), outcome)
    }

    private func keep(
        _ identity: StoredIdentity?, in store: SQLiteKeyRecordStore, _ masterKeys: MasterKeys
    ) async throws {
        guard let identity, let newer = try? IdentityKey(identity, masterKeys) else { return }
        let old = try await store.identity()
        if let old, try !newer.continues(IdentityKey(old, masterKeys)) { return }
        _ = try await store.setIdentity(newer.sealed(masterKeys.current), insteadOf: old)
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

    private func move(_ path: String, to target: String) throws {
        guard rename(path, target) == 0, PrivateFile.syncFolder(of: target) else {
            throw KeyServiceServerError(.storeUnusable, "\(path) cannot be renamed (error \(errno)).")
        }
    }
}
