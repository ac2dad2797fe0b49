internal import GRDB
internal import GRDBSQLite

/// SQLite's own functions, with GRDB's errors.
enum SQLiteCalls {
    /// The constant that makes SQLite copy bound values.
    private static let copied = unsafeBitCast(-1, to: sqlite3_destructor_type.self)

    /// Runs a statement with numbers as its arguments.
    static func run(_ statement: SQLiteStatement, _ arguments: Int64?...) throws {
        for (index, argument) in arguments.enumerated() {
            let position = CInt(index + 1)
            let status =
                if let argument {
                    sqlite3_bind_int64(statement, position, argument)
                } else {
                    sqlite3_bind_null(statement, position)
                }
            try check(status, statement)
        }
        defer { sqlite3_reset(statement) }
        while try step(statement) {}
    }

    static func bind(_ number: Int64, at position: CInt, to statement: SQLiteStatement) throws {
        try check(sqlite3_bind_int64(statement, position, number), statement)
    }

    static func bind(_ bytes: [UInt8], at position: CInt, to statement: SQLiteStatement) throws {
        try check(sqlite3_bind_blob(statement, position, bytes, CInt(bytes.count), copied), statement)
    }

    static func bind(_ text: String, at position: CInt, to statement: SQLiteStatement) throws {
        try check(sqlite3_bind_text(statement, position, text, CInt(text.utf8.count), copied), statement)
    }

    /// Whether there is a row.
    static func step(_ statement: SQLiteStatement) throws -> Bool {
        let status = sqlite3_step(statement)
        if status == SQLITE_ROW { return true }
        guard status == SQLITE_DONE else { throw error(status, statement) }
        return false
    }

    /// Returns a column's number; nil for NULL.
    static func number(_ row: SQLiteStatement, _ column: CInt) -> Int64? {
        sqlite3_column_type(row, column) == SQLITE_NULL ? nil : sqlite3_column_int64(row, column)
    }

    /// Returns a column's bytes; nil for NULL.
    static func optionalBytes(_ row: SQLiteStatement, _ column: CInt) -> [UInt8]? {
        sqlite3_column_type(row, column) == SQLITE_NULL ? nil : bytes(row, column)
    }

    static func bytes(_ row: SQLiteStatement, _ column: CInt) -> [UInt8] {
        // The pointer comes before the size: the first call may convert the value.
        let start = sqlite3_column_blob(row, column)
        return [UInt8](UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(row, column))))
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
