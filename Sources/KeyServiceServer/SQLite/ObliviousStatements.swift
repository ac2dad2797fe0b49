internal import Foundation
internal import GRDB
internal import GRDBSQLite

/// The statements for keys of the protocol's version 2, for one transaction.
struct ObliviousStatements {
    private let db: Database
    private let limits: GuessLimits
    private let find: Statement
    private let tries: Statement
    private let removeTry: Statement

    init(_ db: Database) throws {
        self.db = db
        limits = try GuessStatements.limits(db)
        find = try db.cachedStatement(
            sql: """
                SELECT number, created_at, kind, details, master_key, content, state, owner, label, last_used_at
                FROM key_record LEFT JOIN guess_counter USING (number) WHERE id = ?
                """)
        tries = try db.cachedStatement(
            sql: "SELECT ticket, blinded, opened_at FROM open_try WHERE number = ? ORDER BY opened_at, ticket")
        removeTry = try db.cachedStatement(sql: "DELETE FROM open_try WHERE ticket = ?")
    }

    /// Carries out an update.
    ///
    /// - Parameter mayAdd: whether the disk has room for new keys.
    func update(_ keyID: String, _ update: ObliviousUpdate, mayAdd: Bool) throws {
        switch try found(keyID) {
        case .nothing:
            guard let new = try update.apply(.nothing, limits) else { return }
            guard mayAdd else { throw KeyServiceServerError.diskNearlyFull }
            try whole { try Self.insert(new, db) }
        case .otherVersion: _ = try update.apply(.otherVersion, limits)
        case .key(let number, let old):
            guard let new = try update.apply(.key(old), limits) else {
                return try db.execute(sql: "DELETE FROM key_record WHERE number = ?", arguments: [number])
            }
            let difference = Difference(from: old, to: new)
            // One statement is whole by itself.
            if difference.statements > 1 {
                try whole { try write(new, difference, number) }
            } else {
                try write(new, difference, number)
            }
        }
    }

    /// Writes a key with several statements: all of them, or none.
    private func whole(_ body: () throws -> Void) throws {
        try db.inSavepoint {
            try body()
            return .commit
        }
    }

    private enum Found {
        case nothing, otherVersion
        case key(number: Int64, ObliviousKey)
    }

    /// Reads a key with its tries.
    private func found(_ keyID: String) throws -> Found {
        let row = find.sqliteStatement
        defer { sqlite3_reset(row) }
        try SQLiteCalls.bind(keyID, at: 1, to: row)
        guard try SQLiteCalls.step(row) else {
            // As much work as for a key: nobody may learn from the time of a refusal whether a key exists.
            _ = try openTries(0)
            return .nothing
        }
        guard sqlite3_column_int64(row, 2) == KeyDetails.obliviousKind else { return .otherVersion }
        guard let state = ObliviousKey.State(rawValue: Int(sqlite3_column_int64(row, 6))) else {
            throw KeyServiceServerError(.storeUnusable, "A record in the database is damaged.")
        }
        let number = sqlite3_column_int64(row, 0)
        let record = KeyRecord(
            id: keyID, createdAt: sqlite3_column_int64(row, 1),
            details: try KeyDetails(kind: KeyDetails.obliviousKind, bytes: SQLiteCalls.bytes(row, 3)),
            masterKeyID: MasterKeyID(rawValue: UInt64(bitPattern: sqlite3_column_int64(row, 4))),
            content: SQLiteCalls.bytes(row, 5))
        let key = ObliviousKey(
            record: record, state: state, tries: try openTries(number), owner: SQLiteCalls.optionalBytes(row, 7),
            label: SQLiteCalls.optionalBytes(row, 8), lastUsedAt: SQLiteCalls.number(row, 9))
        return .key(number: number, key)
    }

    private func openTries(_ number: Int64) throws -> [ObliviousKey.Try] {
        let row = tries.sqliteStatement
        defer { sqlite3_reset(row) }
        try SQLiteCalls.bind(number, at: 1, to: row)
        var found: [ObliviousKey.Try] = []
        while try SQLiteCalls.step(row) {
            found.append(
                ObliviousKey.Try(
                    ticket: SQLiteCalls.bytes(row, 0), blinded: SQLiteCalls.bytes(row, 1),
                    openedAt: sqlite3_column_int64(row, 2)))
        }
        return found
    }

    /// Adds a key with all its stored values.
    static func insert(_ key: ObliviousKey, _ db: Database) throws {
        let record = key.record
        try db.cachedStatement(
            sql: """
                INSERT INTO key_record (id, created_at, kind, details, master_key, content, state, owner, label)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
                """
        ).execute(arguments: [
            record.id, record.createdAt, record.details.kind, Data(record.details.bytes),
            Int64(bitPattern: record.masterKeyID.rawValue), Data(record.content), key.state.rawValue,
            key.owner.map { Data($0) }, key.label.map { Data($0) },
        ])
        let number = db.lastInsertedRowID
        try db.cachedStatement(
            sql: "INSERT INTO guess_counter (number, wrong_guesses, last_used_at, room) VALUES (?, 0, ?, zeroblob(8))"
        ).execute(arguments: [number, key.lastUsedAt])
        for new in key.tries { try add(new, number, db) }
    }

    private static func add(_ new: ObliviousKey.Try, _ number: Int64, _ db: Database) throws {
        let statement = try db.cachedStatement(
            sql: "INSERT INTO open_try (ticket, number, blinded, opened_at) VALUES (?, ?, ?, ?)"
        ).sqliteStatement
        try SQLiteCalls.bind(new.ticket, at: 1, to: statement)
        try SQLiteCalls.bind(number, at: 2, to: statement)
        try SQLiteCalls.bind(new.blinded, at: 3, to: statement)
        try SQLiteCalls.bind(new.openedAt, at: 4, to: statement)
        try SQLiteCalls.run(statement)
    }

    /// What an update changed.
    private struct Difference {
        let gone: [ObliviousKey.Try]
        let added: [ObliviousKey.Try]
        let isRecordNew: Bool
        let isUsed: Bool

        init(from old: ObliviousKey, to new: ObliviousKey) {
            gone = old.tries.filter { !new.tries.contains($0) }
            added = new.tries.filter { !old.tries.contains($0) }
            isRecordNew =
                (new.record, new.state) != (old.record, old.state) || new.owner != old.owner || new.label != old.label
            isUsed = new.lastUsedAt != old.lastUsedAt
        }

        var statements: Int { gone.count + added.count + (isRecordNew ? 1 : 0) + (isUsed ? 1 : 0) }
    }

    private func write(_ new: ObliviousKey, _ difference: Difference, _ number: Int64) throws {
        for gone in difference.gone {
            try SQLiteCalls.bind(gone.ticket, at: 1, to: removeTry.sqliteStatement)
            try SQLiteCalls.run(removeTry.sqliteStatement)
        }
        for added in difference.added { try Self.add(added, number, db) }
        if difference.isRecordNew {
            try db.cachedStatement(
                sql: """
                    UPDATE key_record SET details = ?, master_key = ?, content = ?, state = ?, owner = ?, label = ?
                    WHERE number = ?
                    """
            ).execute(arguments: [
                Data(new.record.details.bytes), Int64(bitPattern: new.record.masterKeyID.rawValue),
                Data(new.record.content), new.state.rawValue, new.owner.map { Data($0) }, new.label.map { Data($0) },
                number,
            ])
        }
        if difference.isUsed {
            try db.cachedStatement(sql: "UPDATE guess_counter SET last_used_at = ?, room = NULL WHERE number = ?")
                .execute(arguments: [new.lastUsedAt, number])
        }
    }
}

// The operator's calls for keys of version 2. Nobody here has the master key.
extension ObliviousStatements {
    /// The part of a content that stays when a key ends: its first half.
    private static let withoutKey = "substr(content, 1, length(content) / 2)"

    /// Reads the tries of keys whose numbers follow each other.
    static func tries(of numbers: ClosedRange<Int64>, _ db: Database) throws -> [Int64: [ObliviousKey.Try]] {
        let rows = try Row.fetchAll(
            db, sql: "SELECT * FROM open_try WHERE number BETWEEN ? AND ? ORDER BY opened_at, ticket",
            arguments: [numbers.lowerBound, numbers.upperBound])
        var found: [Int64: [ObliviousKey.Try]] = [:]
        for row in rows {
            let (ticket, blinded): (Data, Data) = (
                try row.decode(forColumn: "ticket"), try row.decode(forColumn: "blinded")
            )
            found[try row.decode(forColumn: "number"), default: []].append(
                ObliviousKey.Try(
                    ticket: [UInt8](ticket), blinded: [UInt8](blinded),
                    openedAt: try row.decode(forColumn: "opened_at")))
        }
        return found
    }

    /// - Returns: false if there is no live or unfinished key of this version with the id.
    static func revoke(_ keyID: String, _ db: Database) throws -> Bool {
        try db.execute(
            sql: """
                DELETE FROM open_try WHERE number = (SELECT number FROM key_record WHERE id = ? AND state IN (0, 1))
                """, arguments: [keyID])
        try db.execute(
            sql: """
                UPDATE key_record SET state = \(RecordStatements.revoked), content = \(withoutKey)
                WHERE id = ? AND kind = \(KeyDetails.obliviousKind) AND state IN (0, 1)
                """, arguments: [keyID])
        return db.changesCount > 0
    }

    static func unlock(_ keyID: String, _ db: Database) throws {
        try db.execute(
            sql: "DELETE FROM open_try WHERE number = (SELECT number FROM key_record WHERE id = ? AND state = 0)",
            arguments: [keyID])
    }

    /// Adds tries whose tickets nobody has to live keys.
    ///
    /// - Parameters:
    ///   - time: the time of the new tries; nil for the time of the key's last try.
    ///   - minimum: keys with fewer tries stay as they are.
    ///   - count: the number of tries that the other keys get.
    static func fill(at time: Int64?, from minimum: Int, to count: Int, _ db: Database) throws {
        guard count > 0 else { return }
        try db.execute(
            sql: """
                WITH RECURSIVE place (number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM place WHERE number < ?2),
                    live AS (SELECT k.number, count(t.ticket) AS count, max(t.opened_at) AS youngest
                        FROM key_record AS k LEFT JOIN open_try AS t USING (number)
                        WHERE k.kind = \(KeyDetails.obliviousKind) AND k.state = 0 GROUP BY k.number)
                INSERT INTO open_try (ticket, number, blinded, opened_at)
                SELECT randomblob(16), live.number, randomblob(32), coalesce(?3, live.youngest)
                FROM live JOIN place ON place.number > live.count WHERE live.count >= ?1
                """, arguments: [minimum, count, time])
    }

    /// Leaves one try to keys that have one left under the old limit, but none under the new one. Otherwise they would
    /// count as locked, and be destroyed after a while.
    static func keepOneTry(under new: Int, was old: Int, _ db: Database) throws {
        try db.execute(
            sql: """
                DELETE FROM open_try WHERE ticket IN (
                    SELECT ticket FROM (
                        SELECT ticket, count(*) OVER (PARTITION BY number) AS count,
                            row_number() OVER (PARTITION BY number ORDER BY opened_at DESC, ticket DESC) AS place
                        FROM open_try JOIN key_record USING (number)
                        WHERE kind = \(KeyDetails.obliviousKind) AND state = 0)
                    WHERE count >= ?1 AND count < ?2 AND place <= count - ?1 + 1)
                """, arguments: [new, old])
    }

    /// Removes the unfinished keys. After a rollback, a recorded confirm would finish one with all its guesses.
    static func removeUnfinished(_ db: Database) throws {
        try db.execute(
            sql: """
                DELETE FROM key_record
                WHERE kind = \(KeyDetails.obliviousKind) AND state = \(ObliviousKey.State.unfinished.rawValue)
                """)
    }

    static func endUnclaimed(since time: Int64, _ db: Database) throws -> Int {
        // The index of the owners finds them.
        let unclaimed = try Int64.fetchAll(
            db,
            sql: """
                SELECT number FROM key_record
                WHERE owner = ? AND kind = \(KeyDetails.obliviousKind) AND state = 0 AND created_at <= ?
                """, arguments: [Data(ObliviousKey.nobodyYet), time])
        for number in unclaimed { try end(number, .ended, db) }
        return unclaimed.count
    }

    /// Keeps the keys that nobody claimed yet. A client claims a key only once, and perhaps did so after the older
    /// state of the store was saved.
    static func keepUnclaimed(_ db: Database) throws {
        try db.execute(
            sql: "UPDATE key_record SET owner = NULL WHERE owner = ?", arguments: [Data(ObliviousKey.nobodyYet)])
    }

    private static func end(_ number: Int64, _ state: ObliviousKey.State, _ db: Database) throws {
        try db.execute(sql: "DELETE FROM open_try WHERE number = ?", arguments: [number])
        try db.execute(
            sql: "UPDATE key_record SET state = ?, content = \(withoutKey) WHERE number = ?",
            arguments: [state.rawValue, number])
    }

    static func sweep(
        unfinishedSince: Int64, lockedSince: Int64, _ limits: GuessLimits, _ db: Database
    ) throws -> (deleted: Int, destroyed: Int) {
        let ours = "kind = \(KeyDetails.obliviousKind)"
        try db.execute(
            sql: "DELETE FROM key_record WHERE \(ours) AND state = 1 AND created_at <= ?", arguments: [unfinishedSince])
        let deleted = db.changesCount
        let locked = try Int64.fetchAll(
            db,
            sql: """
                SELECT number FROM open_try JOIN key_record USING (number) WHERE \(ours) AND state = 0
                GROUP BY number HAVING count(*) >= ? AND max(opened_at) <= ?
                """, arguments: [limits.inARow, lockedSince])
        for number in locked { try end(number, .destroyed, db) }
        return (deleted, locked.count)
    }
}
