internal import Foundation
internal import GRDB
internal import VaultCrypto

/// The records in one SQLite database: write-ahead log, an fsync for each transaction, deleted data overwritten.
///
/// It keeps nothing in memory between two calls, as another process may unlock or delete a key.
public final class SQLiteKeyRecordStore: KeyRecordStore {
    private let queue: DatabaseQueue
    private let lock: FolderLock?

    /// Opens a database, or makes one if `mayCreate` is true. Only its owner can read it.
    ///
    /// - Parameter lock: a lock that is kept until the store ends.
    /// - Throws: ``KeyServiceServerError`` with code `configurationInvalid` if the file is missing or readable by
    ///   others, `storeTooNew`, `busy` or `storeUnusable`.
    init(path: String, mayCreate: Bool, lock: FolderLock? = nil) throws {
        self.lock = lock
        try PrivateFile.prepareDatabase(path: path, mayCreate: mayCreate)
        queue = try Self.translatingErrors {
            let queue = try DatabaseQueue(path: path, configuration: SQLiteSchema.configuration)
            try SQLiteSchema.prepare(queue)
            return queue
        }
    }

    /// Closes the database, and lets another server use the folder. Every later call fails.
    ///
    /// Needed only if the process continues. Call it after the application has ended.
    public func close() {
        try? queue.close()
        lock?.release()
    }

    /// Carries out the changes in one SQLite transaction.
    ///
    /// - Returns: one outcome for each change, in the same order.
    /// - Throws: ``KeyServiceServerError``: `busy`: try again. `storeUnusable`: see the text. Then no change has
    ///   happened.
    public func commit(_ changes: [KeyRecordChange]) throws -> [KeyRecordOutcome] {
        try Self.translatingErrors {
            try queue.write { db in
                let guesses = try GuessStatements(db)
                return try changes.map { try Self.apply($0, guesses, db) }
            }
        }
    }

    private static func apply(
        _ change: KeyRecordChange, _ guesses: GuessStatements, _ db: Database
    ) throws -> KeyRecordOutcome {
        switch change {
        case .insert(let record): try insert(record, db)
        case .find(let keyID, let limits):
            return try guesses.find(keyID, limits: limits, chargeTime: nil)
        case .charge(let keyID, let limits, let time):
            return try guesses.find(keyID, limits: limits, chargeTime: time)
        case .succeed(let keyID, let wasCharged, let time):
            try guesses.succeed(keyID, wasCharged: wasCharged, time: time)
        case .giveBack(let keyID, let lastWrongAt, let usedAt):
            try guesses.giveBack(keyID, lastWrongAt: lastWrongAt, usedAt: usedAt)
        case .checkIn(let check, let time):
            try db.execute(
                sql: """
                    INSERT INTO service (number, master_key_check, checked_in_at) VALUES (1, ?, ?)
                    ON CONFLICT (number) DO UPDATE SET checked_in_at = excluded.checked_in_at
                    """, arguments: [Data(check), time])
            let kept = try Data.fetchOne(db, sql: "SELECT master_key_check FROM service WHERE number = 1")
            return .checkedIn(masterKeyCheck: kept.map { [UInt8]($0) } ?? check)
        }
        return .done
    }

    private static func insert(_ record: KeyRecord, _ db: Database) throws {
        var parameters: Argon2Parameters?
        if case .stretched(let chosen) = record.secretKind { parameters = chosen }
        try db.cachedStatement(
            sql: """
                INSERT INTO key_record (id, created_at, argon2_passes, argon2_memory_kib, argon2_lanes, salt,
                    wrapped_by_secret, wrapped_by_long_secret) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
                """
        ).execute(arguments: [
            record.id, record.createdAt, parameters?.passes, parameters?.memoryKiB, parameters?.lanes,
            Data(record.salt), Data(record.wrappedBySecret), Data(record.wrappedByLongSecret),
        ])
        try db.cachedStatement(sql: "INSERT INTO guess_counter (number, wrong_guesses) VALUES (?, 0)")
            .execute(arguments: [db.lastInsertedRowID])
    }

    private static func secretKind(passes: UInt32?, memoryKiB: UInt32?, lanes: UInt32?) -> KeyRecord.SecretKind {
        guard let passes, let memoryKiB, let lanes else { return .strong }
        return .stretched(Argon2Parameters(passes: passes, memoryKiB: memoryKiB, lanes: lanes))
    }

    private static func translatingErrors<R>(_ body: () throws -> R) throws -> R {
        do {
            return try body()
        } catch is RowDecodingError {
            // The error would print the row, so it is dropped.
            throw KeyServiceServerError(.storeUnusable, "A record in the database is damaged.")
        } catch let error as DatabaseError {
            switch error.resultCode {
            case .SQLITE_BUSY, .SQLITE_LOCKED: throw KeyServiceServerError.busy
            default:
                throw KeyServiceServerError(
                    .storeUnusable,
                    "The database cannot be used (SQLite: \(error.resultCode.rawValue), \(error.message ?? "no details")).",
                    underlying: error)
            }
        }
    }
}

// The operator's calls. They also work while the service runs.
extension SQLiteKeyRecordStore {
    /// Returns all keys, the oldest first.
    public func summaries() throws -> [KeyRecordSummary] {
        try Self.translatingErrors {
            try queue.read { db in
                try Row.fetchAll(db, sql: "SELECT * FROM key_record JOIN guess_counter USING (number) ORDER BY number")
                    .map { row in
                        // "decode" throws where a subscript would trap on a damaged row.
                        try KeyRecordSummary(
                            id: row.decode(forColumn: "id"), createdAt: row.decode(forColumn: "created_at"),
                            lastUsedAt: row.decode(forColumn: "last_used_at"),
                            wrongGuesses: GuessCount(
                                inARow: row.decode(forColumn: "wrong_guesses"),
                                inAll: row.decode(forColumn: "wrong_guesses_in_all"),
                                lastWrongAt: row.decode(forColumn: "last_wrong_at")),
                            secretKind: Self.secretKind(
                                passes: row.decode(forColumn: "argon2_passes"),
                                memoryKiB: row.decode(forColumn: "argon2_memory_kib"),
                                lanes: row.decode(forColumn: "argon2_lanes")))
                    }
            }
        }
    }

    /// Gives a key all its guesses back: sets both counts to 0.
    ///
    /// - Throws: ``KeyServiceServerError`` with code `noSuchKey`, `busy` or `storeUnusable`.
    public func unlock(keyID: String) throws {
        try change(
            """
            UPDATE guess_counter SET wrong_guesses = 0, wrong_guesses_in_all = 0, last_wrong_at = NULL
            WHERE number = (SELECT number FROM key_record WHERE id = ?)
            """, keyID: keyID)
    }

    /// Deletes a key for good. It cannot be released any more.
    ///
    /// - Throws: ``KeyServiceServerError`` with code `noSuchKey`, `busy` or `storeUnusable`.
    public func delete(keyID: String) throws {
        try change("DELETE FROM key_record WHERE id = ?", keyID: keyID)
        // The checkpoint removes the old pages from the write-ahead log. A busy server does it at its next checkpoint.
        try? queue.writeWithoutTransaction { _ = try $0.checkpoint(.truncate) }
    }

    private func change(_ sql: String, keyID: String) throws {
        let count = try Self.translatingErrors {
            try queue.write { db in
                try db.execute(sql: sql, arguments: [keyID])
                return db.changesCount
            }
        }
        guard count > 0 else { throw KeyServiceServerError.noSuchKey }
    }

    /// Makes a consistent copy of the database in a new file that only its owner can read.
    ///
    /// - Throws: ``KeyServiceServerError`` with code `configurationInvalid` if the file exists, `busy` or
    ///   `storeUnusable`. Then no new file remains.
    public func backUp(to path: String) throws {
        try PrivateFile.create(path: path).close()
        do {
            try Self.translatingErrors {
                var configuration = Configuration()
                configuration.prepareDatabase { try $0.execute(sql: "PRAGMA synchronous = FULL") }
                let target = try DatabaseQueue(path: path, configuration: configuration)
                try queue.backup(to: target)
                let verdict = try target.read { try String.fetchOne($0, sql: "PRAGMA quick_check") }
                try target.close()
                guard verdict == "ok" else {
                    throw KeyServiceServerError(.storeUnusable, "The database is damaged: \(verdict ?? "no details").")
                }
            }
        } catch {
            unlink(path)
            throw error
        }
    }
}
