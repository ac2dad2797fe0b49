internal import CLinux
internal import Foundation
internal import GRDB
internal import KeyServiceCore
internal import VaultBase

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
    /// The space for new keys. A reserve stays for guesses, because logins need it.
    enum Room: Int, Comparable {
        /// The disk is full: the database cannot grow.
        case full
        /// There is no room for new keys.
        case none
        case little, plenty

        static func < (left: Room, right: Room) -> Bool { left.rawValue < right.rawValue }
    }

    /// More than the write-ahead log usually takes, in bytes: see ``logLimit(_:)``.
    private static let logSize: UInt64 = 16 << 20

    /// The space of the log: 16 MiB, or a tenth of a small disk.
    private static func logSize(_ path: String) -> UInt64 { min(logSize, (disk(path)?.size ?? .max) / 10) }

    /// The pages in the log after which it is moved into the database: three quarters of its space. More may come while
    /// it is moved. A page takes 4,096 bytes and 24 for its place.
    static func logLimit(_ path: String) -> Int { Int(logSize(path) / 4 * 3 / 4120) }

    /// - Parameter forKeys: whether there may be new keys, and not only new guesses.
    func room(forKeys: Bool) -> Room {
        guard let disk else { return .plenty }
        if disk.free < min(1 << 20, disk.size / 40) { return .full }
        let reserve = min(64 << 20, disk.size / 10) + (forKeys ? spaceForGuesses() : 0)
        return disk.free < reserve ? .none : disk.free < reserve + Self.logSize ? .little : .plenty
    }

    /// The size and the free space of the disk, in bytes; nil if the file system does not say them.
    private var disk: (size: UInt64, free: UInt64)? { Self.disk(path) }

    private static func disk(_ path: String) -> (size: UInt64, free: UInt64)? {
        var status = statvfs()
        guard statvfs(path, &status) == 0 else { return nil }
        // Some file systems report sizes that no number holds.
        let (size, isHuge) = UInt64(status.f_blocks).multipliedReportingOverflow(by: UInt64(status.f_frsize))
        return isHuge ? nil : (size, UInt64(status.f_bavail) &* UInt64(status.f_frsize))
    }

    /// The most space that the open guesses of all keys can take, in bytes. A guess takes at most 0.4 of the space of
    /// its key. Otherwise, somebody with many keys could fill the disk with guesses, and keep out all others.
    private func spaceForGuesses() -> UInt64 {
        guard let pages, let limits = try? queue.read(KeyStatements.limits) else { return 0 }
        let used = Double(pages.count - pages.unused) * Double(pages.size)
        return UInt64(clamping: Int64(used * 0.4 * Double(min(limits.inARow, 1000))))
    }

    /// The number of pages, how many of them are unused, and the size of each in bytes.
    private var pages: (count: Int, unused: Int, size: Int)? {
        try? queue.read { db in
            (
                count: try Int.fetchOne(db, sql: "PRAGMA page_count") ?? 0,
                unused: try Int.fetchOne(db, sql: "PRAGMA freelist_count") ?? 0,
                size: try Int.fetchOne(db, sql: "PRAGMA page_size") ?? 0
            )
        }
    }

    // MARK: - Space that is there already

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
        try? whileLogRests { try queue.writeWithoutTransaction { _ = try $0.checkpoint(.passive) } }
        // An operator's command may have truncated the log.
        reserveLog()
    }

    /// Calls `body` while this server's own mover of the log does nothing.
    func whileLogRests<R>(_ body: () throws -> R) throws -> R { try logMover?.whileIdle(body) ?? body() }

    /// Keeps the database from getting more pages, or lets it grow again.
    ///
    /// On a full disk, a new page would reach the log, but no checkpoint could write the page into the database. Then
    /// the log would grow until all guesses fail. With this limit, only the guess that needs the page fails.
    func keepSize(_ isKept: Bool) {
        guard isSizeKept.withLock({ $0 }) != isKept else { return }
        // SQLite takes the present number of pages if it is higher.
        let limit = isKept ? 1 : 1_073_741_823
        try? queue.writeWithoutTransaction { try $0.execute(sql: "PRAGMA max_page_count = \(limit)") }
        isSizeKept.withLock { $0 = isKept }
    }
}
