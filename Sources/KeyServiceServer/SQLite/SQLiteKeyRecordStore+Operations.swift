internal import Foundation
internal import GRDB

// These calls block their thread for one short transaction.
extension SQLiteKeyRecordStore: KeyRecordOperations {
    /// Returns the state that all instances of the service share.
    public func state() async throws -> StoreState {
        try reading(RecordStatements.state)
    }

    /// Changes the limits of wrong guesses. Locked keys stay locked.
    public func setLimits(_ limits: GuessLimits) async throws {
        try blocking { db in
            let isFirst = try Int.fetchOne(db, sql: "SELECT max_guesses FROM service") == nil
            let old = isFirst ? limits : try GuessStatements.limits(db)
            // A server calls this at each start, and the change reads all keys.
            guard isFirst || old != limits else { return }
            try db.execute(
                sql: """
                    UPDATE guess_counter SET locked_at = coalesce(last_wrong_at, 0)
                    WHERE locked_at IS NULL AND ticket IS NULL
                        AND (wrong_guesses >= ? OR wrong_guesses_in_all >= ?)
                    """, arguments: [old.inARow, old.inAll])
            if old.inARow < limits.inARow {
                try ObliviousStatements.fill(at: nil, from: old.inARow, to: limits.inARow, db)
            } else {
                try ObliviousStatements.keepOneTry(under: limits.inARow, was: old.inARow, db)
            }
            try db.execute(
                sql: "UPDATE service SET max_guesses = ?, max_guesses_total = ?",
                arguments: [limits.inARow, limits.inAll])
        }
    }

    /// Adds a master key to the list.
    public func addMasterKey(_ masterKey: StoredMasterKey) async throws {
        try blocking { db in
            try db.execute(
                sql: "INSERT INTO master_key (id, check_value) VALUES (?, ?) ON CONFLICT (id) DO NOTHING",
                arguments: [Int64(bitPattern: masterKey.id.rawValue), Data(masterKey.check)])
        }
    }

    /// Removes a master key from the list, unless records or the identity are sealed under it.
    public func removeMasterKey(_ id: MasterKeyID) async throws -> Bool {
        try blocking { db in
            let id = Int64(bitPattern: id.rawValue)
            guard
                try Bool.fetchOne(
                    db,
                    sql: """
                        SELECT EXISTS (SELECT 1 FROM key_record WHERE master_key = ?1)
                            OR EXISTS (SELECT 1 FROM service_identity WHERE master_key = ?1)
                        """, arguments: [id]) == false
            else { return false }
            try db.execute(sql: "DELETE FROM master_key WHERE id = ?", arguments: [id])
            return true
        }
    }

    /// Returns the identity of the service.
    public func identity() async throws -> StoredIdentity? {
        // A running service asks once a second. Its thread must not wait for the disk.
        do {
            return try await queue.read(Self.identity)
        } catch {
            return try Self.translatingErrors { throw error }
        }
    }

    /// Replaces the identity of the service.
    public func setIdentity(_ new: StoredIdentity, insteadOf old: StoredIdentity?) async throws -> Bool {
        try blocking { db in
            guard try Self.identity(db) == old else { return false }
            try db.execute(
                sql: """
                    INSERT INTO service_identity (number, master_key, content) VALUES (1, ?, ?)
                    ON CONFLICT (number) DO UPDATE SET master_key = excluded.master_key, content = excluded.content
                    """, arguments: [Int64(bitPattern: new.masterKeyID.rawValue), Data(new.content)])
            return true
        }
    }

    @Sendable private static func identity(_ db: Database) throws -> StoredIdentity? {
        guard let row = try Row.fetchOne(db, sql: "SELECT master_key, content FROM service_identity") else {
            return nil
        }
        let content: Data = try row.decode(forColumn: "content")
        return StoredIdentity(
            masterKeyID: MasterKeyID(rawValue: UInt64(bitPattern: try row.decode(forColumn: "master_key"))),
            content: [UInt8](content))
    }

    /// Returns the keys after a row, the oldest first.
    public func summaries(after row: Int64?, count: Int) async throws -> [KeyRecordSummary] {
        try storedKeysBlocking(after: row, count: count).map { row, key in
            KeyRecordSummary(
                row: row, id: key.record.id, createdAt: key.record.createdAt, lastUsedAt: key.lastUsedAt,
                wrongGuesses: key.count, lock: key.lock, details: key.record.details,
                masterKeyID: key.record.masterKeyID)
        }
    }

    /// Returns the records after a row that are sealed under another master key.
    public func records(
        notUnder id: MasterKeyID, after row: Int64?, count: Int
    ) async throws -> [(row: Int64, KeyRecord)] {
        try reading { db in
            try RecordStatements.page(after: row, count: count, notUnder: id, db).map { row in
                (try row.decode(forColumn: "number"), try RecordStatements.record(row))
            }
        }
    }

    /// Returns the number of records under each master key.
    public func counts() async throws -> [MasterKeyID: Int] {
        try reading { db in
            let rows = try Row.fetchAll(
                db, sql: "SELECT master_key, count(*) AS count FROM key_record GROUP BY master_key")
            return try Dictionary(
                uniqueKeysWithValues: rows.map { row in
                    let id: Int64 = try row.decode(forColumn: "master_key")
                    return (MasterKeyID(rawValue: UInt64(bitPattern: id)), try row.decode(forColumn: "count"))
                })
        }
    }

    /// Gives a key all its guesses back: sets both counts to 0.
    public func unlock(keyID: String) async throws {
        let count = try blocking { db in
            try ObliviousStatements.unlock(keyID, db)
            try db.execute(
                sql: """
                    UPDATE guess_counter SET wrong_guesses = 0, wrong_guesses_in_all = 0, last_wrong_at = NULL,
                        locked_at = NULL, ticket = NULL, held_until = NULL
                    WHERE number = (SELECT number FROM key_record WHERE id = ? AND state = 0)
                    """, arguments: [keyID])
            return db.changesCount
        }
        guard count > 0 else { throw KeyServiceServerError.noSuchKey }
    }

    /// Ends a key for good, but keeps its row.
    public func revoke(keyID: String) async throws {
        let isOblivious = try blocking { try ObliviousStatements.revoke(keyID, $0) }
        if isOblivious {
            // The old pages in the write-ahead log have the key.
            _ = truncateLog()
            return
        }
        // A final state of the protocol's version 2 stays.
        try change(
            """
            UPDATE key_record SET state = CASE WHEN kind = \(KeyDetails.obliviousKind) THEN state
                ELSE \(RecordStatements.revoked) END
            WHERE id = ?
            """, keyID: keyID)
    }

    /// Deletes a key for good. It cannot be released any more.
    public func delete(keyID: String) async throws -> Bool {
        try change("DELETE FROM key_record WHERE id = ?", keyID: keyID)
        // The checkpoint removes the old pages from the write-ahead log. A busy server does it at its next checkpoint.
        return truncateLog()
    }

    /// - Returns: whether the write-ahead log is empty now.
    func truncateLog() -> Bool {
        (try? queue.writeWithoutTransaction { try $0.checkpoint(.truncate).walFrameCount == 0 }) ?? false
    }

    /// Returns the keys of an owner.
    public func keys(ofOwner owner: [UInt8]) async throws -> [StoredKey] {
        // A request asks for the list. Its thread must not wait for the disk.
        do {
            return try await queue.read { try Self.keys(of: owner, $0) }
        } catch {
            return try Self.translatingErrors { throw error }
        }
    }

    private static func keys(of owner: [UInt8], _ db: Database) throws -> [StoredKey] {
        let limits = try GuessStatements.limits(db)
        let rows = try Row.fetchAll(
            db,
            sql: """
                SELECT * FROM key_record JOIN guess_counter USING (number) WHERE owner = ?
                ORDER BY number LIMIT 1000
                """, arguments: [Data(owner)])
        return try rows.map { row in
            let number: Int64 = try row.decode(forColumn: "number")
            let tries = try ObliviousStatements.tries(of: number...number, db)[number]
            return try RecordStatements.storedKey(row, limits, tries: tries ?? [])
        }
    }

    /// Deletes unfinished keys, and destroys keys that were locked for too long.
    public func sweep(unfinishedSince: Int64, lockedSince: Int64) async throws -> (deleted: Int, destroyed: Int) {
        let swept = try blocking { db in
            try ObliviousStatements.sweep(
                unfinishedSince: unfinishedSince, lockedSince: lockedSince, GuessStatements.limits(db), db)
        }
        // The old pages in the write-ahead log also have the keys that clients ended meanwhile.
        _ = truncateLog()
        return swept
    }

    /// Ends live keys that nobody claimed.
    public func endUnclaimedKeys(since time: Int64) async throws -> Int {
        let count = try blocking { try ObliviousStatements.endUnclaimed(since: time, $0) }
        // The old pages in the write-ahead log have the keys.
        if count > 0 { _ = truncateLog() }
        return count
    }

    /// Leaves each key at most one guess.
    public func acceptRollback(generation: Int64, now: Int64) async throws {
        try blocking { db in
            try ObliviousStatements.removeUnfinished(db)
            try ObliviousStatements.keepUnclaimed(db)
            try ObliviousStatements.fill(at: now, from: 0, to: GuessStatements.limits(db).inARow - 1, db)
            try db.execute(
                sql: """
                    UPDATE guess_counter SET ticket = NULL, held_until = NULL,
                        wrong_guesses = max(wrong_guesses, ?)
                    """, arguments: [GuessStatements.limits(db).inARow - 1])
            let limits = try GuessStatements.limits(db)
            try db.execute(
                sql: """
                    UPDATE service SET generation = ?, max_guesses = coalesce(max_guesses, ?),
                        max_guesses_total = coalesce(max_guesses_total, ?)
                    """, arguments: [generation, limits.inARow, limits.inAll])
        }
    }

    /// Sets the reason why no server may use this store.
    public func retire(because reason: String?, insteadOf old: String?) async throws -> Bool {
        try changing(whileRetiredBecause: old) { db in
            try db.execute(sql: "UPDATE service SET retired_because = ?", arguments: [reason])
        }
    }

    /// Returns the keys after a row, with all their stored values.
    public func storedKeys(after row: Int64?, count: Int) async throws -> [(row: Int64, StoredKey)] {
        try storedKeysBlocking(after: row, count: count)
    }

    /// Puts keys of another store into this one.
    public func put(_ keys: [StoredKey], whileRetiredBecause reason: String?) async throws -> Bool {
        try changing(whileRetiredBecause: reason) { db in
            for key in keys { try RecordStatements.put(key, db) }
        }
    }

    /// Deletes a key, if it is there.
    public func delete(keyID: String, whileRetiredBecause reason: String?) async throws -> Bool {
        try changing(whileRetiredBecause: reason) { db in
            try db.execute(sql: "DELETE FROM key_record WHERE id = ?", arguments: [keyID])
        }
    }

    private func changing(whileRetiredBecause reason: String?, _ body: (Database) throws -> Void) throws -> Bool {
        try blocking { db in
            guard try RecordStatements.state(db).retiredBecause == reason else { return false }
            try body(db)
            return true
        }
    }

    private func storedKeysBlocking(after row: Int64?, count: Int) throws -> [(row: Int64, StoredKey)] {
        try reading { db in
            let limits = try GuessStatements.limits(db)
            let rows = try RecordStatements.page(after: row, count: count, db)
            guard let first = rows.first, let last = rows.last else { return [] }
            let tries = try ObliviousStatements.tries(
                of: first.decode(forColumn: "number")...last.decode(forColumn: "number"), db)
            return try rows.map { row in
                let number: Int64 = try row.decode(forColumn: "number")
                return (number, try RecordStatements.storedKey(row, limits, tries: tries[number] ?? []))
            }
        }
    }

    private func change(_ sql: String, keyID: String) throws {
        let count = try blocking { db in
            try db.execute(sql: sql, arguments: [keyID])
            return db.changesCount
        }
        guard count > 0 else { throw KeyServiceServerError.noSuchKey }
    }

    private func reading<R>(_ body: (Database) throws -> R) throws -> R {
        try Self.translatingErrors { try queue.read(body) }
    }
}

extension SQLiteKeyRecordStore {
    /// - Throws: ``KeyServiceServerError`` with code `storeUnusable` if the database is damaged.
    func checkIntegrity() throws {
        let verdict = try reading { try String.fetchOne($0, sql: "PRAGMA quick_check") }
        guard verdict == "ok" else {
            throw KeyServiceServerError(.storeUnusable, "The database is damaged: \(verdict ?? "no details").")
        }
    }

    /// - Throws: ``KeyServiceServerError`` with code `configurationInvalid` and the reason if the store is retired.
    func checkInUse() throws {
        if let reason = try reading(RecordStatements.state).retiredBecause {
            throw KeyServiceServerError(.configurationInvalid, reason)
        }
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
