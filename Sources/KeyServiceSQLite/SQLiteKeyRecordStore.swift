internal import CLinux
internal import Foundation
internal import GRDB
package import KeyServiceCore
internal import VaultBase

/// The records in one SQLite database: write-ahead log, an fsync for each transaction, deleted data overwritten.
///
/// It keeps nothing in memory between two calls, as another process may unlock or delete a key.
package final class SQLiteKeyRecordStore: KeyRecordStore {
    let queue: DatabaseQueue
    let path: String
    /// Whether the database may not get more pages now: see ``keepSize(_:)``.
    let isSizeKept = Lock(false)
    private let lock: FolderLock?
    /// Moves the log of a server. Nil for each other use: then SQLite itself moves the log.
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
}

// The space of the disk. Another program may take all free space at any moment, so the store already has what guesses
// need:
//
// - The write-ahead log has blocks of the disk, and keeps them: see `reserveLog()` and `checkpoint()`.
// - The database has free pages: see `addSparePages()`. A new key takes one of them, and so does a second guess whose
//   row does not fit on its page any more. So a checkpoint need not make the file longer.
//
// A file that keeps space, and is deleted on a full disk, would not help, because the other program takes that space,
// too.
extension SQLiteKeyRecordStore {
    /// More than the write-ahead log usually takes, in bytes: see ``logLimit(_:)``.
    static let logSize: UInt64 = 16 << 20

    /// The space of the log: 16 MiB, or a tenth of a small disk.
    private static func logSize(_ path: String) -> UInt64 { min(logSize, (disk(path)?.size ?? .max) / 10) }

    /// The pages in the log after which it is moved into the database: three quarters of its space. More may come while
    /// it is moved. A page takes 4,096 bytes and 24 for its place.
    static func logLimit(_ path: String) -> Int { max(250, Int(logSize(path) / 4 * 3 / 4120)) }

    /// Gives the write-ahead log blocks of the disk. The file keeps its size, so SQLite does not notice. If the disk is
    /// full, or the file system cannot do it, nothing happens.
    func reserveLog() {
        let log = Foundation.open(path + "-wal", O_RDWR | O_NOFOLLOW | O_CLOEXEC)
        guard log >= 0 else { return }
        defer { Foundation.close(log) }
        _ = linux_fallocate_keep_size(log, 0, off_t(Self.logSize(path)))
    }

    /// Adds free pages to the database if few are left: 1 MiB, or a twentieth of a small disk.
    func addSparePages() {
        guard let pages, pages.size > 0 else { return }
        let wanted = Int(min(1 << 20, (disk?.size ?? .max) / 20)) / pages.size
        let missing = (wanted - pages.unused) * pages.size
        // While another program fills the disk, the pages might reach the log, but not the database.
        guard pages.unused < wanted / 2, disk.map({ $0.free / 4 > UInt64(missing) }) ?? true else { return }
        try? queue.write { db in
            try db.execute(sql: "INSERT INTO spare VALUES (zeroblob(?))", arguments: [missing])
            try db.execute(sql: "DELETE FROM spare")
        }
        checkpoint()
    }

    /// Moves the write-ahead log into the database. It does not wait for readers, because logins wait for it.
    ///
    /// The log keeps its space, and the next transaction begins at its start again. If the log were truncated, another
    /// program could take the space, and the log could not grow again.
    func checkpoint() {
        try? queue.writeWithoutTransaction { db in _ = try whileLogRests { try db.checkpoint(.passive) } }
        // An operator's command may have truncated the log.
        reserveLog()
    }

    /// Calls `body` while this server's own mover of the log does nothing. Call it with the database, as a commit waits
    /// for the mover while it has the database.
    func whileLogRests<R>(_ body: () throws -> R) throws -> R { try logMover?.whileIdle(body) ?? body() }
}
