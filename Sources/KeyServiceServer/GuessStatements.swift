internal import GRDB
internal import GRDBSQLite
internal import VaultCrypto

/// The statements that every guess needs, through SQLite's own functions: GRDB's rows and argument lists take longer
/// than the statements themselves. For one transaction.
struct GuessStatements {
    /// Tells SQLite to copy what is bound.
    private static let copied = unsafeBitCast(-1, to: sqlite3_destructor_type.self)

    private let find: Statement
    private let charge: Statement
    private let succeed: Statement
    private let giveBack: Statement

    init(_ db: Database) throws {
        find = try db.cachedStatement(
            sql: """
                SELECT number, wrong_guesses, created_at, salt, wrapped_by_secret, wrapped_by_long_secret,
                    argon2_passes, argon2_memory_kib, argon2_lanes
                FROM key_record JOIN guess_counter USING (number) WHERE id = ?
                """)
        charge = try db.cachedStatement(
            sql: "UPDATE guess_counter SET wrong_guesses = wrong_guesses + 1 WHERE number = ?")
        succeed = try db.cachedStatement(
            sql: """
                UPDATE guess_counter SET wrong_guesses = 0, last_used_at = ?2
                WHERE number = (SELECT number FROM key_record WHERE id = ?1)
                """)
        giveBack = try db.cachedStatement(
            sql: """
                UPDATE guess_counter SET wrong_guesses = max(0, wrong_guesses - 1)
                WHERE number = (SELECT number FROM key_record WHERE id = ?)
                """)
    }

    /// Counts one more wrong guess, unless `limit` are counted already.
    func charge(_ keyID: String, limit: Int) throws -> KeyRecordOutcome {
        let row = find.sqliteStatement
        defer { sqlite3_reset(row) }
        try Self.bind(keyID, to: row)
        guard try Self.step(row) else { return .noSuchKey }
        let wrongGuesses = Int(sqlite3_column_int64(row, 1))
        guard wrongGuesses < limit else { return .locked }
        let record = KeyRecord(
            id: keyID, createdAt: sqlite3_column_int64(row, 2), secretKind: Self.secretKind(row),
            salt: Self.bytes(row, 3), wrappedBySecret: Self.bytes(row, 4), wrappedByLongSecret: Self.bytes(row, 5))
        try Self.check(sqlite3_bind_int64(charge.sqliteStatement, 1, sqlite3_column_int64(row, 0)), row)
        try Self.run(charge.sqliteStatement)
        return .charged(record, wrongGuesses: wrongGuesses + 1)
    }

    /// Leaves no wrong guesses on the key, which was used at `time`.
    func succeed(_ keyID: String, time: Int64) throws {
        try Self.bind(keyID, to: succeed.sqliteStatement)
        try Self.check(sqlite3_bind_int64(succeed.sqliteStatement, 2, time), succeed.sqliteStatement)
        try Self.run(succeed.sqliteStatement)
    }

    /// Counts one wrong guess less.
    func giveBack(_ keyID: String) throws {
        try Self.bind(keyID, to: giveBack.sqliteStatement)
        try Self.run(giveBack.sqliteStatement)
    }

    private static func secretKind(_ row: SQLiteStatement) -> KeyRecord.SecretKind {
        guard sqlite3_column_type(row, 6) != SQLITE_NULL else { return .strong }
        // A number that is out of bounds stays so, and is refused before Argon2 runs.
        func number(_ column: CInt) -> UInt32 { UInt32(clamping: sqlite3_column_int64(row, column)) }
        return .stretched(Argon2Parameters(passes: number(6), memoryKiB: number(7), lanes: number(8)))
    }

    private static func bytes(_ row: SQLiteStatement, _ column: CInt) -> [UInt8] {
        // In this order: asking for the pointer may convert the value.
        let start = sqlite3_column_blob(row, column)
        return [UInt8](UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(row, column))))
    }

    private static func bind(_ keyID: String, to statement: SQLiteStatement) throws {
        try check(sqlite3_bind_text(statement, 1, keyID, CInt(keyID.utf8.count), copied), statement)
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
