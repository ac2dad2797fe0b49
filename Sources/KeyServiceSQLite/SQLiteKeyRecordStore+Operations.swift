internal import Foundation
internal import GRDB
package import KeyServiceCore

// The calls that write block their thread for one short transaction.
extension SQLiteKeyRecordStore: KeyRecordOperations {
    /// Returns the state that all instances of the service share.
    package func state() async throws -> StoreState {
        try await reading(ServiceStatements.state)
    }

    /// Writes the limits of wrong guesses.
    package func write(limits: GuessLimits) async throws {
        try blocking { db in
            try db.execute(
                sql: "UPDATE service SET max_guesses = ?, max_guesses_total = ?",
                arguments: [limits.inARow, limits.inAll])
        }
    }

    package func write(clock: StoreClock) async throws {
        try blocking { db in
            try db.execute(
                sql: "UPDATE service SET checked_in_at = ?, clock_steady_since = ?",
                arguments: [clock.checkedInAt, clock.steadySince])
        }
    }

    package func write(generation: Int64) async throws {
        try blocking { try $0.execute(sql: "UPDATE service SET generation = ?", arguments: [generation]) }
    }

    package func addMasterKey(_ masterKey: StoredMasterKey) async throws {
        try blocking { db in
            try db.execute(
                sql: "INSERT INTO master_key (id, check_value) VALUES (?, ?) ON CONFLICT (id) DO NOTHING",
                arguments: [Int64(bitPattern: masterKey.id.rawValue), Data(masterKey.check)])
        }
    }

    /// Removes a master key from the list, unless records or the identity are sealed under it.
    package func removeMasterKey(_ id: MasterKeyID) async throws -> Bool {
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

    /// Returns the master keys of the server that runs in another process, if there is one.
    package func masterKeysOfServers() async throws -> [[MasterKeyID]] {
        guard !isServers, let masterKeys = try await reading(ServiceStatements.masterKeysOfServer),
            // A server that was killed could not say so.
            FolderLock.isServed(URL(fileURLWithPath: path).deletingLastPathComponent().path)
        else { return [] }
        return [masterKeys]
    }

    /// Returns the identity of the service.
    package func identity() async throws -> StoredIdentity? {
        try await reading(ServiceStatements.identity)
    }

    /// Replaces the identity of the service.
    package func setIdentity(_ new: StoredIdentity, insteadOf old: StoredIdentity?) async throws -> Bool {
        try blocking { db in
            guard try ServiceStatements.identity(db) == old else { return false }
            try db.execute(
                sql: """
                    INSERT INTO service_identity (number, master_key, content) VALUES (1, ?, ?)
                    ON CONFLICT (number) DO UPDATE SET master_key = excluded.master_key, content = excluded.content
                    """, arguments: [Int64(bitPattern: new.masterKeyID.rawValue), Data(new.content)])
            return true
        }
    }

    package func auditLogs() async throws -> [[UInt8]] {
        try await reading { db in
            try Data.fetchAll(db, sql: "SELECT id FROM audit_log ORDER BY id").map { [UInt8]($0) }
        }
    }

    package func addAuditLog(_ id: [UInt8]) async throws {
        try blocking { db in
            try db.execute(
                sql: "INSERT INTO audit_log (id) VALUES (?) ON CONFLICT (id) DO NOTHING", arguments: [Data(id)])
        }
    }

    /// Returns a page of keys, the oldest first.
    package func page(after row: Int64?, count: Int, of selection: KeySelection) async throws -> KeyPage {
        try await reading { [run] in try KeyStatements($0, run: run).page(after: row, count: count, of: selection) }
    }

    package func keys(ofOwner owner: [UInt8]) async throws -> KeyPage {
        try await reading { [run] in try KeyStatements($0, run: run).keys(ofOwner: owner) }
    }

    /// Returns the number of records under each master key.
    package func counts() async throws -> [MasterKeyID: Int] {
        try await reading { db in
            let rows = try Row.fetchAll(
                db, sql: "SELECT master_key, count(*) AS count FROM key_record GROUP BY master_key")
            return try Dictionary(
                uniqueKeysWithValues: rows.map { row in
                    let id: Int64 = try row.decode(forColumn: "master_key")
                    return (MasterKeyID(rawValue: UInt64(bitPattern: id)), try row.decode(forColumn: "count"))
                })
        }
    }

    /// Deletes a key for good.
    package func remove(keyID: String) async throws -> Bool {
        try blocking { db in
            try db.execute(sql: "DELETE FROM key_record WHERE id = ?", arguments: [keyID])
            return db.changesCount > 0
        }
    }

    /// Empties the write-ahead log, which has the old pages. A busy server does so at its next checkpoint. On a nearly
    /// full disk the log stays, because another program may take its space at once.
    package func eraseOldCopies() async throws -> Bool {
        guard room(forKeys: false) == .plenty else {
            checkpoint()
            return false
        }
        return truncateLog()
    }

    /// - Returns: whether the write-ahead log is empty now.
    func truncateLog() -> Bool {
        // A server that runs needs the space of the log again.
        defer { reserveLog() }
        // Two cannot empty a log at the same time. A server in another process is done with it in a moment.
        let end = ContinuousClock.now + .seconds(2)
        repeat {
            do {
                return try queue.writeWithoutTransaction { db in
                    try whileLogRests { try db.checkpoint(.truncate).walFrameCount == 0 }
                }
            } catch let error as DatabaseError where error.resultCode == .SQLITE_BUSY {
                usleep(10_000)
            } catch {
                return false
            }
        } while !isServers && ContinuousClock.now < end
        return false
    }

    /// Sets the reason why no server may use this store.
    package func retire(because reason: String?, insteadOf old: String?) async throws -> Bool {
        try changing(whileRetiredBecause: old) { db in
            try db.execute(sql: "UPDATE service SET retired_because = ?", arguments: [reason])
        }
    }

    package func put(_ keys: [StoredKey], whileRetiredBecause reason: String?) async throws -> Bool {
        try changing(whileRetiredBecause: reason) { db in
            let statements = try KeyStatements(db, run: run)
            for key in keys { try statements.put(key) }
        }
    }

    package func delete(keyID: String, whileRetiredBecause reason: String?) async throws -> Bool {
        try changing(whileRetiredBecause: reason) { db in
            try db.execute(sql: "DELETE FROM key_record WHERE id = ?", arguments: [keyID])
        }
    }

    private func changing(whileRetiredBecause reason: String?, _ body: (Database) throws -> Void) throws -> Bool {
        try blocking { db in
            guard try ServiceStatements.state(db).retiredBecause == reason else { return false }
            try body(db)
            return true
        }
    }

    /// Reads without blocking the thread, because a running service calls this, too.
    private func reading<R: Sendable>(_ body: @escaping @Sendable (Database) throws -> R) async throws -> R {
        do {
            return try await queue.read(body)
        } catch {
            return try Self.translatingErrors { throw error }
        }
    }
}

extension SQLiteKeyRecordStore {
    /// - Throws: ``KeyServiceServerError`` with code `storeUnusable` if the database is damaged.
    func checkIntegrity() throws {
        let verdict = try readingNow { try String.fetchOne($0, sql: "PRAGMA quick_check") }
        guard verdict == "ok" else {
            throw KeyServiceServerError(.storeUnusable, "The database is damaged: \(verdict ?? "no details").")
        }
    }

    /// - Throws: ``KeyServiceServerError`` with code `configurationInvalid` and the reason if the store is retired.
    func checkInUse() throws {
        if let reason = try readingNow(ServiceStatements.state).retiredBecause {
            throw KeyServiceServerError(retired: reason)
        }
    }

    private func readingNow<R>(_ body: (Database) throws -> R) throws -> R {
        try Self.translatingErrors { try queue.read(body) }
    }

    /// Makes a consistent copy of the database in a new file that only its owner can read.
    ///
    /// Until it is whole, the copy has another name. So nobody takes the copy of a killed process for a backup.
    ///
    /// - Throws: ``KeyServiceServerError`` with code `configurationInvalid` if the file exists, `busy` or
    ///   `storeUnusable`. Then no new file remains.
    package func backUp(to path: String) throws {
        try PrivateFile.requireNothing(at: path)
        let partial = "\(path).partial-\(String(UInt64.random(in: .min ... .max), radix: 16))"
        try PrivateFile.create(path: partial).close()
        do {
            try Self.translatingErrors {
                var configuration = Configuration()
                configuration.prepareDatabase { try $0.execute(sql: "PRAGMA synchronous = FULL") }
                let target = try DatabaseQueue(path: partial, configuration: configuration)
                try queue.backup(to: target)
                let verdict = try target.read { try String.fetchOne($0, sql: "PRAGMA quick_check") }
                try target.close()
                guard verdict == "ok" else {
                    throw KeyServiceServerError(.storeUnusable, "The database is damaged: \(verdict ?? "no details").")
                }
            }
            FaultPoint.backedUp.strike()
            try PrivateFile.rename(partial, to: path)
        } catch {
            unlink(partial)
            throw error
        }
    }
}
