internal import CSQLite
internal import Dispatch
internal import GRDB
internal import VaultBase

/// Moves the write-ahead log of a server's database into the database while requests go on.
///
/// SQLite itself would do that at the end of a transaction, and all requests would wait until the disk has the changed
/// pages. So a second connection does it on its own thread. Meanwhile, transactions can add to the log. SQLite
/// writes from the log's start again only when all of the log has been moved. If requests come without a gap, that
/// never happens. So at a limit, the next transaction moves the last part itself.
final class LogMover: Sendable {
    private struct Progress {
        /// The pages in the log, and how many of them are in the database, too.
        var pages = 0
        var moved = 0
        var isMoving = false
        /// When the mover may begin again.
        var next = ContinuousClock.now
    }

    /// The new pages in the log after which they are moved. The disk writes so few in a millisecond or two. While it
    /// writes, the transactions wait for the disk, too. With a million keys, the slowest of a hundred releases
    /// took 20 ms with 500 pages, and 4 to 6 ms with 12 and with 24 (measured without the rest between portions).
    private static let portion = 16
    private let connection: DatabaseQueue
    private let thread = DispatchQueue(label: "credential-vault.log-mover")
    private let progress = Lock(Progress())
    /// Held while a log is moved. Who has the writer's queue may wait for it, and never the other way round.
    private let moving = Lock(())
    /// The pages in the log after which a transaction moves it.
    private let limit: Int

    /// Opens the second connection. At the first one, SQLite no longer moves the log by itself.
    ///
    /// - Parameters:
    ///   - path: the path of the database.
    ///   - writer: the connection that changes the database. Close this mover before the connection.
    ///   - limit: the most pages in the log. Some more may come while the mover works.
    init(path: String, writer: DatabaseQueue, limit: Int) throws {
        connection = try DatabaseQueue(path: path, configuration: SQLiteSchema.configuration)
        self.limit = limit
        let me = Unmanaged.passUnretained(self).toOpaque()
        writer.writeWithoutTransaction { db in
            _ = sqlite3_wal_hook(
                db.sqliteConnection,
                { context, connection, _, pages in
                    if let context, let connection {
                        let mover = Unmanaged<LogMover>.fromOpaque(context).takeUnretainedValue()
                        mover.committed(on: connection, pages: Int(pages))
                    }
                    return SQLITE_OK
                }, me)
        }
    }

    /// Closes the second connection. No other move begins.
    func close(_ writer: DatabaseQueue) {
        // A closed connection is nil.
        writer.writeWithoutTransaction { if let open = $0.sqliteConnection { _ = sqlite3_wal_hook(open, nil, nil) } }
        finish()
        try? connection.close()
    }

    /// Waits for the work that has begun.
    func finish() { thread.sync {} }

    /// Calls `body` while this mover does nothing. Two cannot move a log at the same time: the later one would fail.
    func whileIdle<R>(_ body: () throws -> R) rethrows -> R { try moving.withLock { _ in try body() } }

    /// Notes a transaction of the first connection, on its thread.
    private func committed(on writer: OpaquePointer, pages: Int) {
        let (mustMove, mayBegin) = progress.withLock { progress in
            // The log is shorter if SQLite writes from its start again.
            if pages < max(progress.pages, progress.moved) { progress.moved = 0 }
            progress.pages = pages
            let mustMove = pages >= limit
            let mayBegin =
                !mustMove && !progress.isMoving && pages - progress.moved >= Self.portion
                && progress.next <= .now
            if mayBegin { progress.isMoving = true }
            return (mustMove, mayBegin)
        }
        if mustMove {
            // A file that cannot be written now is tried again after the next transaction.
            whileIdle { _ = sqlite3_wal_checkpoint_v2(writer, nil, SQLITE_CHECKPOINT_PASSIVE, nil, nil) }
        } else if mayBegin {
            thread.async { [self] in move() }
        }
    }

    /// How long the mover rests. Without a rest, it would work all the time on a slow disk, and the transactions would
    /// wait for the disk. The rest has a limit, so that a disk that hung once does not leave all later work to the
    /// transactions.
    static func rest(after work: Duration) -> Duration { min(work * 4, .seconds(10)) }

    private func move() {
        let begin = ContinuousClock.now
        let moved = try? whileIdle {
            try connection.writeWithoutTransaction { try $0.checkpoint(.passive).checkpointedFrameCount }
        }
        let end = ContinuousClock.now
        progress.withLock { progress in
            progress.isMoving = false
            progress.next = end + Self.rest(after: end - begin)
            if let moved { progress.moved = moved }
        }
    }
}
