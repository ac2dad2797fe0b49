internal import GRDB
internal import GRDBSQLite
internal import KeyServiceCore

/// A statement in SQLite's own functions, with GRDB's errors.
struct SQLiteCall {
    /// The constant that makes SQLite copy bound values.
    private static let copied = unsafeBitCast(-1, to: sqlite3_destructor_type.self)

    private let statement: SQLiteStatement

    init(_ statement: SQLiteStatement) {
        self.statement = statement
    }

    func bind(_ number: Int64?, at position: CInt) throws {
        try check(
            number.map { sqlite3_bind_int64(statement, position, $0) } ?? sqlite3_bind_null(statement, position))
    }

    func bind(_ bytes: [UInt8]?, at position: CInt) throws {
        try check(
            bytes.map { sqlite3_bind_blob(statement, position, $0, CInt($0.count), Self.copied) }
                ?? sqlite3_bind_null(statement, position))
    }

    func bind(_ text: String, at position: CInt) throws {
        try check(sqlite3_bind_text(statement, position, text, CInt(text.utf8.count), Self.copied))
    }

    /// Whether there is a row.
    func step() throws -> Bool {
        let status = sqlite3_step(statement)
        if status == SQLITE_ROW { return true }
        guard status == SQLITE_DONE else { throw error(status) }
        return false
    }

    /// Makes the statement ready for its next use.
    func reset() { sqlite3_reset(statement) }

    /// Returns a column's number; 0 for NULL.
    func number(_ column: CInt) -> Int64 { sqlite3_column_int64(statement, column) }

    /// Returns a column's number; nil for NULL.
    func optionalNumber(_ column: CInt) -> Int64? {
        sqlite3_column_type(statement, column) == SQLITE_NULL ? nil : number(column)
    }

    /// Returns a column's bytes; none for NULL.
    func bytes(_ column: CInt) -> [UInt8] {
        // The pointer comes before the size: the first call may convert the value.
        let start = sqlite3_column_blob(statement, column)
        return [UInt8](UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(statement, column))))
    }

    /// Returns a column's bytes; nil for NULL.
    func optionalBytes(_ column: CInt) -> [UInt8]? {
        sqlite3_column_type(statement, column) == SQLITE_NULL ? nil : bytes(column)
    }

    /// Returns a column's text.
    func text(_ column: CInt) -> String { String(decoding: bytes(column), as: UTF8.self) }

    private func check(_ status: CInt) throws {
        guard status == SQLITE_OK else { throw error(status) }
    }

    private func error(_ status: CInt) -> DatabaseError {
        DatabaseError(
            resultCode: ResultCode(rawValue: status),
            message: sqlite3_errmsg(sqlite3_db_handle(statement)).map { String(cString: $0) })
    }
}
