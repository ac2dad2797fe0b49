internal import GRDB
internal import KeyServiceCore

/// The statements that read and write keys, for one transaction. They use SQLite's own functions, as GRDB's rows and
/// argument lists take longer than the statements.
struct KeyStatements {
    /// The columns of a key, as ``key(_:)`` reads them.
    static let columns = """
        number, id, created_at, kind, details, master_key, content, state, owner, label, last_used_at, wrong_in_all, guesses,
            owner_unlocked_at
        """

    private let db: Database
    private let limits: GuessLimits
    // Looking up a statement by its text takes about as long as running it. These two run for each guess.
    private let findKey: SQLiteCall
    private let writeGuesses: SQLiteCall

    private let run: UInt32

    /// - Parameter run: the number of this run of the server.
    init(_ db: Database, run: UInt32) throws {
        self.db = db
        self.run = run
        limits = try Self.limits(db)
        findKey = SQLiteCall(
            try db.cachedStatement(sql: "SELECT \(Self.columns) FROM key_record WHERE id = ?1").sqliteStatement)
        writeGuesses = SQLiteCall(
            try db.cachedStatement(
                sql: """
                    UPDATE key_record SET last_used_at = ?1, wrong_in_all = ?2, guesses = ?3, room = ?4 WHERE number = ?5
                    """
            ).sqliteStatement)
    }

    /// Carries out an update.
    ///
    /// - Parameter mayAdd: whether the disk has room for new keys.
    func apply(_ update: KeyUpdate, mayAdd: Bool) throws {
        let found = try find(update.keyID)
        var key = found?.key
        try update.apply(&key, limits)
        guard update.purpose != .read else { return }
        switch (found, key) {
        case (nil, nil): break
        case (nil, let new?):
            guard mayAdd else { throw KeyServiceServerError.diskNearlyFull }
            try insert(new)
        case (let old?, nil): try execute("DELETE FROM key_record WHERE number = ?1") { try $0.bind(old.row, at: 1) }
        case (let old?, let new?): try write(new, insteadOf: old.key, row: old.row)
        }
    }

    // MARK: - Reading

    /// Returns the limits of wrong guesses.
    static func limits(_ db: Database) throws -> GuessLimits {
        let row = SQLiteCall(
            try db.cachedStatement(sql: "SELECT max_guesses, max_guesses_total FROM service").sqliteStatement)
        defer { row.reset() }
        guard try row.step() else { throw ServiceStatements.missing }
        return GuessLimits(inARow: Int(clamping: row.number(0)), inAll: Int(clamping: row.number(1)))
    }

    /// Reads a key.
    func find(_ keyID: String) throws -> (row: Int64, key: StoredKey)? {
        defer { findKey.reset() }
        try findKey.bind(keyID, at: 1)
        return try findKey.step() ? (findKey.number(0), try key(findKey)) : nil
    }

    func key(_ row: SQLiteCall) throws -> StoredKey {
        guard let state = StoredKey.State(rawValue: Int(row.number(7))) else {
            throw KeyServiceServerError.damagedRecord
        }
        let record = KeyRecord(
            id: row.text(1), createdAt: row.number(2),
            details: try KeyDetails(kind: Int(row.number(3)), bytes: row.bytes(4)),
            masterKeyID: MasterKeyID(rawValue: UInt64(bitPattern: row.number(5))), content: row.bytes(6))
        return StoredKey(
            record: record, state: state, guesses: try StoredGuesses.read(row.optionalBytes(12), run: run),
            // A damaged count must not trap.
            wrongInAll: Int(clamping: min(max(0, row.number(11)), Int64(Int32.max))),
            owner: row.optionalBytes(8), label: row.optionalBytes(9), lastUsedAt: row.optionalNumber(10),
            ownerUnlockedAt: row.optionalNumber(13))
    }

    // MARK: - Writing

    func insert(_ key: StoredKey) throws {
        let sql = """
            INSERT INTO key_record (last_used_at, wrong_in_all, guesses, room, kind, details, master_key, content, state,
                owner, label, owner_unlocked_at, id, created_at)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)
            """
        try execute(sql) { statement in
            try bindGuesses(key, to: statement)
            try Self.bindRecord(key, to: statement)
            try statement.bind(key.record.id, at: 13)
            try statement.bind(key.record.createdAt, at: 14)
        }
    }

    private func write(_ new: StoredKey, insteadOf old: StoredKey, row: Int64) throws {
        guard new != old else { return }
        let isRecordNew =
            new.record != old.record || new.state != old.state || new.owner != old.owner || new.label != old.label
            || new.ownerUnlockedAt != old.ownerUnlockedAt
        // Most updates change only guesses. A statement that names indexed columns would write the indexes, too.
        guard isRecordNew else {
            defer { writeGuesses.reset() }
            try bindGuesses(new, to: writeGuesses)
            try writeGuesses.bind(row, at: 5)
            while try writeGuesses.step() {}
            return
        }
        let sql = """
            UPDATE key_record SET last_used_at = ?1, wrong_in_all = ?2, guesses = ?3, room = ?4, kind = ?5, details = ?6,
                master_key = ?7, content = ?8, state = ?9, owner = ?10, label = ?11,
                owner_unlocked_at = ?12, created_at = ?13 WHERE number = ?14
            """
        try execute(sql) { statement in
            try bindGuesses(new, to: statement)
            try Self.bindRecord(new, to: statement)
            try statement.bind(new.record.createdAt, at: 13)
            try statement.bind(row, at: 14)
        }
    }

    /// Binds the values 1 to 4.
    private func bindGuesses(_ key: StoredKey, to statement: SQLiteCall) throws {
        try statement.bind(key.lastUsedAt, at: 1)
        try statement.bind(Int64(key.wrongInAll), at: 2)
        try statement.bind(StoredGuesses.bytes(key.guesses, run: run), at: 3)
        // The space that the next guess and the first use take. So they need no new page on a full disk.
        let room = (key.guesses.isEmpty ? StoredGuesses.size + 2 : 0) + (key.lastUsedAt == nil ? 8 : 0)
        try statement.bind(room > 0 ? [UInt8](repeating: 0, count: room) : nil, at: 4)
    }

    /// Binds the values 5 to 12.
    private static func bindRecord(_ key: StoredKey, to statement: SQLiteCall) throws {
        try statement.bind(Int64(key.record.details.kind), at: 5)
        try statement.bind(key.record.details.bytes, at: 6)
        try statement.bind(Int64(bitPattern: key.record.masterKeyID.rawValue), at: 7)
        try statement.bind(key.record.content, at: 8)
        try statement.bind(Int64(key.state.rawValue), at: 9)
        try statement.bind(key.owner, at: 10)
        try statement.bind(key.label, at: 11)
        try statement.bind(key.ownerUnlockedAt, at: 12)
    }

    func cached(_ sql: String) throws -> SQLiteCall {
        SQLiteCall(try db.cachedStatement(sql: sql).sqliteStatement)
    }

    func execute(_ sql: String, _ bind: (SQLiteCall) throws -> Void) throws {
        let statement = try cached(sql)
        defer { statement.reset() }
        try bind(statement)
        while try statement.step() {}
    }
}
