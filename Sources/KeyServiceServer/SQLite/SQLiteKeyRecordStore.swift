internal import Foundation
internal import GRDB
internal import VaultCrypto

/// The records in one SQLite database: write-ahead log, an fsync for each transaction, deleted data overwritten.
///
/// It keeps nothing in memory between two calls, as another process may unlock or delete a key.
public final class SQLiteKeyRecordStore: KeyRecordStore {
    let queue: DatabaseQueue
    private let path: String
    private let lock: FolderLock?

    /// The purpose of opening a database.
    enum Use {
        /// A server. It has the lock of the folder until the store ends. It migrates an older schema that belongs to
        /// the master keys.
        case serve(FolderLock, MasterKeys)
        /// The making of a new database.
        case create
        /// An operator's command, with a lock of the folder if it makes changes. A server may run at the same time, so
        /// the schema stays as it is.
        case operate(FolderLock?)
    }

    /// Opens a database. Only its owner can read it.
    ///
    /// - Throws: ``KeyServiceServerError`` with code `configurationInvalid` if the file is missing, readable by others
    ///   or of an older version, `storeTooNew`, `busy` or `storeUnusable`.
    init(path: String, for use: Use) throws {
        self.path = path
        var mayCreate = false
        var migrates: ((StoredMasterKey) throws -> Void)?
        var isServer = false
        switch use {
        case .serve(let lock, let masterKeys):
            self.lock = lock
            isServer = true
            migrates = { _ = try masterKeys.match([$0]) }
        case .create:
            lock = nil
            mayCreate = true
            migrates = { _ in }
        case .operate(let lock): self.lock = lock
        }
        try PrivateFile.prepareDatabase(path: path, mayCreate: mayCreate)
        queue = try Self.translatingErrors {
            let queue = try DatabaseQueue(path: path, configuration: SQLiteSchema.configuration)
            try SQLiteSchema.prepare(queue, migrates: migrates)
            return queue
        }
        // The guesses of a server that was killed stay charged. Nobody will settle them, so no guess needs to wait.
        if isServer {
            try blocking {
                try $0.execute(
                    sql: "UPDATE guess_counter SET ticket = NULL, held_until = NULL WHERE ticket IS NOT NULL")
            }
        }
    }

    /// Closes the database, and lets another server use the folder. Every later call fails.
    ///
    /// Call it only if the process continues, after the application has ended.
    public func close() {
        close(keepingLock: false)
    }

    func close(keepingLock: Bool) {
        try? queue.close()
        if !keepingLock { lock?.release() }
    }

    /// Carries out the changes in one SQLite transaction, which blocks the thread. SQLite cannot stop at a deadline.
    ///
    /// - Returns: for each change its outcome, or a ``KeyServiceServerError`` with code `busy` or `storeUnusable`.
    ///   After an error the change has not happened.
    public func commit(
        _ changes: [KeyRecordChange], lane: Int, deadline: ContinuousClock.Instant
    ) async -> [Result<KeyRecordOutcome, KeyServiceServerError>] {
        commitBlocking(changes)
    }

    private func commitBlocking(_ changes: [KeyRecordChange]) -> [Result<KeyRecordOutcome, KeyServiceServerError>] {
        let mayGrow = changes.contains { $0.mayInsert || $0.isUpdate }
        let room = mayGrow ? room(forKeys: changes.contains(where: \.mayInsert)) : .plenty
        let mayInsert = room != .none
        do {
            let results = try apply(changes, mayInsert: mayInsert)
            // The database grows now, while it can. Later, the write-ahead log of guesses may have taken the space.
            if room != .plenty { checkpoint() }
            return results
        } catch let error where error.isFullDisk {
            // Space in the write-ahead log is free again after a checkpoint. Guesses then need no new space.
            checkpoint()
            if let results = try? apply(changes, mayInsert: false) { return results }
            // A try of the protocol's version 2 may need new space. It must not fail the others.
            return changes.flatMap { (try? apply([$0], mayInsert: false)) ?? [.failure(error)] }
        } catch let error where error.code != .busy && changes.count > 1 {
            return changes.flatMap { change in
                (try? apply([change], mayInsert: mayInsert)) ?? [.failure(error)]
            }
        } catch {
            return changes.map { _ in .failure(error) }
        }
    }

    private func apply(
        _ changes: [KeyRecordChange], mayInsert: Bool
    ) throws(KeyServiceServerError) -> [Result<KeyRecordOutcome, KeyServiceServerError>] {
        try Self.translatingErrors {
            try queue.write { db in
                let guesses = try GuessStatements(db)
                let oblivious =
                    changes.contains(where: \.isUpdate) ? try ObliviousStatements(db) : nil
                return try changes.map { change in
                    if case .insert = change, !mayInsert { return .failure(.diskNearlyFull) }
                    do {
                        if case .update(let keyID, let update) = change {
                            try oblivious?.update(keyID, update, mayAdd: mayInsert)
                            return .success(.done)
                        }
                        return .success(try Self.apply(change, guesses, db))
                    } catch let error as KeyServiceServerError {
                        return .failure(error)
                    } catch let error as DatabaseError where error.resultCode == .SQLITE_CONSTRAINT {
                        // This error undoes only its own statement.
                        return .failure(Self.translated(error))
                    }
                }
            }
        }
    }

    private static func apply(
        _ change: KeyRecordChange, _ guesses: GuessStatements, _ db: Database
    ) throws -> KeyRecordOutcome {
        switch change {
        case .insert(let record): return try RecordStatements.insert(record, db)
        case .find(let keyID): return try guesses.find(keyID)
        case .charge(let keyID, let ticket, let time): return try guesses.find(keyID, charging: (ticket, time))
        case .settle(let key, let ticket, let result): return try guesses.settle(key, ticket, result, db)
        case .noteUse(let key, let time): try guesses.noteUse(key, time: time, db)
        case .reseal(let record, let replaced): return try RecordStatements.reseal(record, replaced: replaced, db)
        case .update: break
        case .checkIn(let time):
            try db.cachedStatement(sql: "UPDATE service SET checked_in_at = ?, generation = generation + 1")
                .execute(arguments: [time])
            return .checkedIn(try RecordStatements.state(db))
        }
        return .done
    }

    /// The space of the disk for new keys. A reserve stays for guesses, because logins need it.
    private enum Room {
        case none, little, plenty
    }

    /// More than the write-ahead log takes until its next checkpoint, in bytes.
    private static let logSize: UInt64 = 16 << 20

    /// - Parameter forKeys: whether there may be new keys, and not only new tries.
    private func room(forKeys: Bool) -> Room {
        var status = statvfs()
        guard statvfs(path, &status) == 0 else { return .plenty }
        // Some file systems report sizes that no number holds.
        let (size, isHuge) = UInt64(status.f_blocks).multipliedReportingOverflow(by: UInt64(status.f_frsize))
        guard !isHuge else { return .plenty }
        let free = UInt64(status.f_bavail) &* UInt64(status.f_frsize)
        let reserve = min(64 << 20, size / 10) + (forKeys ? spaceForTries() : 0)
        return free < reserve ? .none : free < reserve + Self.logSize ? .little : .plenty
    }

    /// The most space that the open tries of all keys can take, in bytes. A try takes at most 0.4 of the space of its
    /// key. Otherwise, somebody with many keys could fill the disk with tries, and keep out all others.
    private func spaceForTries() -> UInt64 {
        let numbers = try? queue.read { db in
            (
                pages: try Int.fetchOne(db, sql: "PRAGMA page_count") ?? 0,
                unused: try Int.fetchOne(db, sql: "PRAGMA freelist_count") ?? 0,
                pageSize: try Int.fetchOne(db, sql: "PRAGMA page_size") ?? 0, limits: try GuessStatements.limits(db)
            )
        }
        guard let numbers else { return 0 }
        let used = Double(numbers.pages - numbers.unused) * Double(numbers.pageSize)
        return UInt64(clamping: Int64(used * 0.4 * Double(min(numbers.limits.inARow, 1000))))
    }

    /// Moves the write-ahead log into the database. It does not wait for readers, because logins wait for it.
    private func checkpoint() {
        try? queue.writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA busy_timeout = 0")
            defer { try? db.execute(sql: "PRAGMA busy_timeout = 5000") }
            _ = try db.checkpoint(.truncate)
        }
    }

    /// Runs a transaction that blocks the thread.
    func blocking<R>(_ body: (Database) throws -> R) throws(KeyServiceServerError) -> R {
        try Self.translatingErrors { try queue.write(body) }
    }

    static func translatingErrors<R>(_ body: () throws -> R) throws(KeyServiceServerError) -> R {
        do {
            return try body()
        } catch let error as KeyServiceServerError {
            throw error
        } catch let error as DatabaseError {
            throw translated(error)
        } catch is RowDecodingError {
            // The error would print the row, so it is dropped.
            throw KeyServiceServerError(.storeUnusable, "A record in the database is damaged.")
        } catch {
            throw KeyServiceServerError(.storeUnusable, "The database cannot be used.", underlying: error)
        }
    }

    private static func translated(_ error: DatabaseError) -> KeyServiceServerError {
        switch error.resultCode {
        case .SQLITE_BUSY, .SQLITE_LOCKED: .busy
        default:
            KeyServiceServerError(
                .storeUnusable,
                "The database cannot be used (SQLite: \(error.resultCode.rawValue), \(error.message ?? "no details")).",
                underlying: error)
        }
    }
}

extension KeyRecordChange {
    fileprivate var mayInsert: Bool {
        switch self {
        case .insert: true
        case .update(_, let update): update.mayAdd
        default: false
        }
    }

    fileprivate var isUpdate: Bool {
        if case .update = self { true } else { false }
    }
}

extension KeyServiceServerError {
    fileprivate var isFullDisk: Bool {
        (underlying as? DatabaseError)?.resultCode == .SQLITE_FULL
    }
}
