internal import GRDB
internal import GRDBSQLite
internal import VaultCrypto

/// The statements of a guess, for one transaction. They use SQLite's own functions, as GRDB's rows and argument lists
/// take longer than the statements.
struct GuessStatements {
    /// The constant that makes SQLite copy bound values.
    private static let copied = unsafeBitCast(-1, to: sqlite3_destructor_type.self)

    private let find: Statement
    private let charge: Statement
    private let succeed: Statement
    private let giveBack: Statement

    init(_ db: Database) throws {
        find = try db.cachedStatement(
            sql: """
                SELECT number, wrong_guesses, wrong_guesses_in_all, last_wrong_at, created_at, salt, wrapped_by_secret,
                    wrapped_by_long_secret, argon2_passes, argon2_memory_kib, argon2_lanes
                FROM key_record JOIN guess_counter USING (number) WHERE id = ?
                """)
        charge = try db.cachedStatement(
            sql: """
                UPDATE guess_counter SET wrong_guesses = wrong_guesses + 1,
                    wrong_guesses_in_all = wrong_guesses_in_all + 1, last_wrong_at = ?2
                WHERE number = ?1
                """)
        succeed = try db.cachedStatement(
            sql: """
                UPDATE guess_counter SET wrong_guesses = 0, wrong_guesses_in_all = max(0, wrong_guesses_in_all - ?2),
                    last_wrong_at = NULL, last_used_at = ?3
                WHERE number = (SELECT number FROM key_record WHERE id = ?1)
                """)
        giveBack = try db.cachedStatement(
            sql: """
                UPDATE guess_counter SET wrong_guesses = max(0, wrong_guesses - 1),
                    wrong_guesses_in_all = max(0, wrong_guesses_in_all - 1), last_wrong_at = ?2,
                    last_used_at = coalesce(?3, last_used_at)
                WHERE number = (SELECT number FROM key_record WHERE id = ?1)
                """)
    }

    /// Looks up a key, and counts a wrong guess at `chargeTime`, unless that is nil or a limit is reached.
    func find(_ keyID: String, limits: GuessLimits, chargeTime: Int64?) throws -> KeyRecordOutcome {
        let row = find.sqliteStatement
        defer { sqlite3_reset(row) }
        try Self.bind(keyID, to: row)
        guard try Self.step(row) else { return .noSuchKey }
        let count = GuessCount(
            inARow: Int(sqlite3_column_int64(row, 1)), inAll: Int(sqlite3_column_int64(row, 2)),
            lastWrongAt: sqlite3_column_type(row, 3) == SQLITE_NULL ? nil : sqlite3_column_int64(row, 3))
        guard limits.remaining(after: count) > 0 else { return .locked }
        let record = KeyRecord(
            id: keyID, createdAt: sqlite3_column_int64(row, 4), secretKind: Self.secretKind(row, from: 8),
            salt: Self.bytes(row, 5), wrappedBySecret: Self.bytes(row, 6), wrappedByLongSecret: Self.bytes(row, 7))
        if let chargeTime {
            let statement = charge.sqliteStatement
            try Self.check(sqlite3_bind_int64(statement, 1, sqlite3_column_int64(row, 0)), statement)
            try Self.bind(chargeTime, at: 2, to: statement)
            try Self.run(statement)
        }
        return .found(record, count)
    }

    /// Sets the wrong guesses in a row to 0, and notes that the key was used at `time`.
    func succeed(_ keyID: String, wasCharged: Bool, time: Int64) throws {
        let statement = succeed.sqliteStatement
        try Self.bind(keyID, to: statement)
        try Self.bind(wasCharged ? 1 : 0, at: 2, to: statement)
        try Self.bind(time, at: 3, to: statement)
        try Self.run(statement)
    }

    /// Counts one wrong guess less.
    func giveBack(_ keyID: String, lastWrongAt: Int64?, usedAt: Int64?) throws {
        let statement = giveBack.sqliteStatement
        try Self.bind(keyID, to: statement)
        try Self.bind(lastWrongAt, at: 2, to: statement)
        try Self.bind(usedAt, at: 3, to: statement)
        try Self.run(statement)
    }

    private static func secretKind(_ row: SQLiteStatement, from first: CInt) -> KeyRecord.SecretKind {
        guard sqlite3_column_type(row, first) != SQLITE_NULL else { return .strong }
        // Clamping keeps a bad number out of bounds, so it is refused before Argon2 runs.
        func number(_ index: CInt) -> UInt32 { UInt32(clamping: sqlite3_column_int64(row, first + index)) }
        return .stretched(Argon2Parameters(passes: number(0), memoryKiB: number(1), lanes: number(2)))
    }

    private static func bytes(_ row: SQLiteStatement, _ column: CInt) -> [UInt8] {
        // The order matters: asking for the pointer may convert the value.
        let start = sqlite3_column_blob(row, column)
        return [UInt8](UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(row, column))))
    }

    private static func bind(_ keyID: String, to statement: SQLiteStatement) throws {
        try check(sqlite3_bind_text(statement, 1, keyID, CInt(keyID.utf8.count), copied), statement)
    }

    private static func bind(_ number: Int64?, at position: CInt, to statement: SQLiteStatement) throws {
        let status =
            if let number {
                sqlite3_bind_int64(statement, position, number)
            } else {
                sqlite3_bind_null(statement, position)
            }
        try check(status, statement)
    }

    private static func run(_ statement: SQLiteStatement) throws {
        defer { sqlite3_reset(statement) }
        while try step(statement) {}
    }

    /// Whether there is a row.
    private static func step(_ statement: SQLiteStatement) throws -> Bool {
        let status = sqlite3_step(statement)
        if status == SQLITE_ROW { return true }
        guard status == SQLITE_DONE else { throw error(status, statement) }
        return false
    }

    private static func check(_ status: CInt, _ statement: SQLiteStatement) throws {
        guard status == SQLITE_OK else { throw error(status, statement) }
    }

    private static func error(_ status: CInt, _ statement: SQLiteStatement) -> DatabaseError {
        DatabaseError(
            resultCode: ResultCode(rawValue: status),
            message: sqlite3_errmsg(sqlite3_db_handle(statement)).map { String(cString: $0) })
    }
}
