internal import Foundation
internal import GRDB
package import KeyServiceCore
internal import VaultBase

// The transactions of the running service, with the space that they may take on the disk.
extension SQLiteKeyRecordStore {
    /// Carries out the updates in one SQLite transaction, which blocks the thread. SQLite cannot stop at a deadline.
    ///
    /// - Returns: for each update its success, or its error. After an error the update has not happened.
    package func commit(
        _ updates: [KeyUpdate], lane: Int, deadline: ContinuousClock.Instant
    ) async -> [Result<Void, any Error>] {
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

    // MARK: - The space of the disk

    /// The space for new keys. A reserve stays for guesses, because logins need it.
    enum Room: Int, Comparable {
        /// The disk is full: the database cannot grow.
        case full
        /// There is no room for new keys.
        case none
        case little, plenty

        static func < (left: Room, right: Room) -> Bool { left.rawValue < right.rawValue }
    }

    /// - Parameter forKeys: whether there may be new keys, and not only new guesses.
    func room(forKeys: Bool) -> Room {
        guard let disk else { return .plenty }
        if disk.free < min(1 << 20, disk.size / 40) { return .full }
        let reserve = min(64 << 20, disk.size / 10) + (forKeys ? spaceForGuesses() : 0)
        return disk.free < reserve ? .none : disk.free < reserve + Self.logSize ? .little : .plenty
    }

    /// The size and the free space of the disk, in bytes; nil if the file system does not say them.
    var disk: (size: UInt64, free: UInt64)? { Self.disk(path) }

    static func disk(_ path: String) -> (size: UInt64, free: UInt64)? {
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
    var pages: (count: Int, unused: Int, size: Int)? {
        try? queue.read { db in
            (
                count: try Int.fetchOne(db, sql: "PRAGMA page_count") ?? 0,
                unused: try Int.fetchOne(db, sql: "PRAGMA freelist_count") ?? 0,
                size: try Int.fetchOne(db, sql: "PRAGMA page_size") ?? 0
            )
        }
    }

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

    // MARK: - Errors

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
