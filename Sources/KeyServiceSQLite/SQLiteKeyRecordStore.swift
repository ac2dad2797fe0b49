internal import Foundation
internal import GRDB
package import KeyServiceCore
internal import VaultBase
internal import VaultCrypto

/// The records in one SQLite database: write-ahead log, an fsync for each transaction, deleted data overwritten.
///
/// It keeps nothing in memory between two calls, as another process may unlock or delete a key.
package final class SQLiteKeyRecordStore: KeyRecordStore {
    let queue: DatabaseQueue
    let path: String
    /// Whether the database may not get more pages now: see ``keepSize(_:)``.
    let isSizeKept = Lock(false)
    private let lock: FolderLock?
    /// Moves the log of a server. SQLite does it for the others.
    let logMover: LogMover?
    /// Whether this store has the lock of the only server.
    let isServers: Bool
    /// The number of this run. Nobody will settle the guesses of a server that was killed, so no guess waits for them.
    let run = UInt32.random(in: 1 ... .max)

    /// The purpose of opening a database.
    enum Use {
        /// A server. It has the lock of the folder until the store ends, and migrates an older schema.
        case serve(FolderLock)
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
        let (mayCreate, mayChange): (Bool, Bool)
        if case .serve = use { isServers = true } else { isServers = false }
        switch use {
        case .serve(let lock):
            self.lock = lock
            (mayCreate, mayChange) = (false, true)
        case .create:
            lock = nil
            (mayCreate, mayChange) = (true, true)
        case .operate(let lock):
            self.lock = lock
            (mayCreate, mayChange) = (false, false)
        }
        try PrivateFile.prepareDatabase(path: path, mayCreate: mayCreate)
        queue = try Self.translatingErrors {
            let queue = try DatabaseQueue(path: path, configuration: SQLiteSchema.configuration)
            try SQLiteSchema.prepare(queue, mayChange: mayChange)
            return queue
        }
        if case .serve = use {
            logMover = try Self.translatingErrors { [queue] in
                try LogMover(path: path, writer: queue, limit: Self.logLimit(path))
            }
        } else {
            logMover = nil
        }
        if isServers {
            reserveLog()
            addSparePages()
        }
    }

    /// Closes the database, and lets another server use the folder. Every later call fails.
    ///
    /// Call it only if the process continues, after the application has ended.
    package func close() {
        close(keepingLock: false)
    }

    func close(keepingLock: Bool) {
        logMover?.close(queue)
        try? queue.close()
        if !keepingLock { lock?.release() }
    }

    /// Carries out the updates in one SQLite transaction, which blocks the thread. SQLite cannot stop at a deadline.
    ///
    /// - Returns: for each update its success, or its error. After an error the update has not happened.
    package func commit(
        _ updates: [KeyUpdate], lane: Int, deadline: ContinuousClock.Instant
    ) async -> [Result<Void, any Error>] {
        commitBlocking(updates)
    }

    private func commitBlocking(_ updates: [KeyUpdate]) -> [Result<Void, any Error>] {
        let mayGrow = updates.contains { $0.purpose != .read }
        let room = mayGrow ? room(forKeys: updates.contains { $0.purpose == .add }) : .plenty
        let mayAdd = room >= .little
        if mayGrow { keepSize(room == .full) }
        do {
            let results = try apply(updates, mayAdd: mayAdd)
            // The database grows now, while it can. Later, another program may have taken the space.
            if room != .plenty { checkpoint() }
            return results
        } catch let error where error.isFullDisk {
            // Space in the write-ahead log is free again after a checkpoint. Guesses then need no new space.
            checkpoint()
            if let results = try? apply(updates, mayAdd: false) { return results }
            // A second guess of a key may need new space. It must not fail the others.
            return updates.flatMap { update -> [Result<Void, any Error>] in
                checkpoint()
                return (try? apply([update], mayAdd: false)) ?? [.failure(error)]
            }
        } catch let error where error.code != .busy && updates.count > 1 {
            return updates.flatMap { (try? apply([$0], mayAdd: mayAdd)) ?? [.failure(error)] }
        } catch {
            return updates.map { _ in .failure(error) }
        }
    }

    private func apply(
        _ updates: [KeyUpdate], mayAdd: Bool
    ) throws(KeyServiceServerError) -> [Result<Void, any Error>] {
        try Self.translatingErrors {
            try queue.write { db in
                let statements = try KeyStatements(db, run: run)
                return try updates.map { update in
                    do {
                        try statements.apply(update, mayAdd: mayAdd)
                        return .success(())
                    } catch let error as DatabaseError {
                        // Only this error undoes no more than its own statement.
                        guard error.resultCode == .SQLITE_CONSTRAINT else { throw error }
                        return .failure(Self.translated(error))
                    } catch {
                        return .failure(error)
                    }
                }
            }
        }
    }

    /// Notes the server and its time, and adds 1 to the generation.
    package func checkIn(_ checkIn: ServerCheckIn, deadline: ContinuousClock.Instant) async throws -> StoreState {
        let state = try blocking { try ServiceStatements.checkIn(checkIn, $0) }
        addSparePages()
        return state
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

extension KeyServiceServerError {
    fileprivate var isFullDisk: Bool {
        (underlying as? DatabaseError)?.resultCode == .SQLITE_FULL
    }
}
