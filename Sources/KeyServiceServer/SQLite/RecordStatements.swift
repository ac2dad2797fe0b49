internal import Foundation
internal import GRDB

/// The statements that read and write whole records.
enum RecordStatements {
    static func insert(_ record: KeyRecord, _ db: Database) throws -> KeyRecordOutcome {
        let insert = try db.cachedStatement(
            sql: """
                INSERT INTO key_record (id, created_at, kind, details, master_key, content)
                VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING
                """)
        try insert.execute(arguments: arguments(record))
        guard db.changesCount > 0 else {
            let known = try Row.fetchOne(db, sql: "SELECT * FROM key_record WHERE id = ?", arguments: [record.id])
            return try known.map(self.record) == record ? .done : .exists
        }
        try db.cachedStatement(
            sql: "INSERT INTO guess_counter (number, wrong_guesses, room) VALUES (?, 0, zeroblob(40))"
        )
        .execute(arguments: [db.lastInsertedRowID])
        return .done
    }

    private static func arguments(_ record: KeyRecord) -> StatementArguments {
        [
            record.id, record.createdAt, record.details.kind, Data(record.details.bytes),
            Int64(bitPattern: record.masterKeyID.rawValue), Data(record.content),
        ]
    }

    /// Replaces a known content. The details of a key of version 2 change without its content, so they stay.
    static func reseal(_ record: KeyRecord, replaced: [UInt8], _ db: Database) throws -> KeyRecordOutcome {
        try db.cachedStatement(
            sql: """
                UPDATE key_record SET kind = ?1, master_key = ?3, content = ?4,
                    details = iif(kind = \(KeyDetails.obliviousKind), details, ?2)
                WHERE id = ?5 AND content = ?6
                """
        ).execute(arguments: [
            record.details.kind, Data(record.details.bytes), Int64(bitPattern: record.masterKeyID.rawValue),
            Data(record.content), record.id, Data(replaced),
        ])
        return db.changesCount > 0 ? .done : .superseded
    }

    /// Adds a key with all its stored values, or replaces the key with its id.
    static func put(_ key: StoredKey, _ db: Database) throws {
        try db.execute(sql: "DELETE FROM key_record WHERE id = ?", arguments: [key.record.id])
        if let oblivious = key.oblivious { return try ObliviousStatements.insert(oblivious, db) }
        try db.execute(
            sql: """
                INSERT INTO key_record (id, created_at, kind, details, master_key, content, state)
                VALUES (?, ?, ?, ?, ?, ?, ?)
                """, arguments: arguments(key.record) + [key.lock == .revoked ? revoked : 0])
        try db.execute(
            sql: """
                INSERT INTO guess_counter (number, wrong_guesses, wrong_guesses_in_all, last_wrong_at, last_used_at,
                    locked_at) VALUES (?, ?, ?, ?, ?, ?)
                """,
            arguments: [
                db.lastInsertedRowID, key.count.inARow, key.count.inAll, key.count.lastWrongAt, key.lastUsedAt,
                key.lock == .locked ? key.count.lastWrongAt ?? 0 : nil,
            ])
    }

    /// The value of the column "state" for a revoked key.
    static let revoked = 3

    /// Returns one page of keys with their guesses.
    ///
    /// - Parameter other: a master key whose records are left out; nil for none.
    static func page(after row: Int64?, count: Int, notUnder other: MasterKeyID? = nil, _ db: Database) throws -> [Row]
    {
        try Row.fetchAll(
            db,
            sql: """
                SELECT * FROM key_record JOIN guess_counter USING (number)
                WHERE number > ? AND (? IS NULL OR master_key <> ?) ORDER BY number LIMIT ?
                """,
            arguments: [
                row ?? .min, other.map { Int64(bitPattern: $0.rawValue) },
                other.map { Int64(bitPattern: $0.rawValue) }, count,
            ])
    }

    // On a damaged row, "decode" throws, but a subscript would trap.

    static func record(_ row: Row) throws -> KeyRecord {
        let details: Data = try row.decode(forColumn: "details")
        let content: Data = try row.decode(forColumn: "content")
        return KeyRecord(
            id: try row.decode(forColumn: "id"), createdAt: try row.decode(forColumn: "created_at"),
            details: try KeyDetails(kind: row.decode(forColumn: "kind"), bytes: [UInt8](details)),
            masterKeyID: MasterKeyID(rawValue: UInt64(bitPattern: try row.decode(forColumn: "master_key"))),
            content: [UInt8](content))
    }

    /// - Parameter tries: the open tries of the key.
    static func storedKey(_ row: Row, _ limits: GuessLimits, tries: [ObliviousKey.Try]) throws -> StoredKey {
        let count = GuessCount(
            inARow: try row.decode(forColumn: "wrong_guesses"),
            inAll: try row.decode(forColumn: "wrong_guesses_in_all"),
            lastWrongAt: try row.decode(forColumn: "last_wrong_at"))
        let state: Int = try row.decode(forColumn: "state")
        let record = try record(row)
        if record.details.kind == KeyDetails.obliviousKind {
            guard let state = ObliviousKey.State(rawValue: state) else {
                throw KeyServiceServerError(.storeUnusable, "A record in the database is damaged.")
            }
            let (owner, label): (Data?, Data?) = (
                try row.decode(forColumn: "owner"), try row.decode(forColumn: "label")
            )
            return StoredKey(
                ObliviousKey(
                    record: record, state: state, tries: tries, owner: owner.map { [UInt8]($0) },
                    label: label.map { [UInt8]($0) }, lastUsedAt: try row.decode(forColumn: "last_used_at")), limits)
        }
        let lockedAt: Int64? = try row.decode(forColumn: "locked_at")
        return StoredKey(
            record: record, count: count, lastUsedAt: try row.decode(forColumn: "last_used_at"),
            lock: state != 0 ? .revoked : lockedAt != nil || limits.remaining(after: count) == 0 ? .locked : nil)
    }

    static func state(_ db: Database) throws -> StoreState {
        guard let row = try Row.fetchOne(db, sql: "SELECT * FROM service") else {
            throw KeyServiceServerError(.storeUnusable, "The database is damaged: its service row is missing.")
        }
        let entries = try Row.fetchAll(db, sql: "SELECT id, check_value FROM master_key ORDER BY id").map { row in
            let check: Data = try row.decode(forColumn: "check_value")
            return StoredMasterKey(
                id: MasterKeyID(rawValue: UInt64(bitPattern: try row.decode(forColumn: "id"))), check: [UInt8](check))
        }
        let storeID: Data = try row.decode(forColumn: "store_id")
        return StoreState(
            storeID: [UInt8](storeID), generation: try row.decode(forColumn: "generation"),
            limits: try GuessStatements.limits(db), masterKeys: entries,
            retiredBecause: try row.decode(forColumn: "retired_because"))
    }
}
