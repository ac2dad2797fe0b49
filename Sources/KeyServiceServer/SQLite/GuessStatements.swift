internal import GRDB
internal import GRDBSQLite

/// The statements of a guess, for one transaction. They use SQLite's own functions, as GRDB's rows and argument lists
/// take longer than the statements.
struct GuessStatements {
    private let limits: GuessLimits
    private let find: Statement
    private let charge: Statement
    private let settleWrong: Statement
    private let settleRight: Statement
    private let giveBack: Statement
    private let noteUse: Statement

    init(_ db: Database) throws {
        limits = try Self.limits(db)
        find = try db.cachedStatement(
            sql: """
                SELECT number, wrong_guesses, wrong_guesses_in_all, last_wrong_at, locked_at, ticket, held_until, state,
                    created_at, kind, details, master_key, content
                FROM key_record JOIN guess_counter USING (number)
                WHERE id = ? AND kind <> \(KeyDetails.obliviousKind)
                """)
        charge = try db.cachedStatement(
            sql: """
                UPDATE guess_counter SET wrong_guesses = wrong_guesses + 1,
                    wrong_guesses_in_all = wrong_guesses_in_all + 1, last_wrong_at = ?2, locked_at = ?3, ticket = ?4,
                    held_until = ?5, room = NULL
                WHERE number = ?1
                """)
        settleWrong = try db.cachedStatement(
            sql: """
                UPDATE guess_counter SET ticket = NULL, held_until = NULL, room = zeroblob(14)
                WHERE number = ?1 AND ticket = ?2
                """)
        settleRight = try db.cachedStatement(
            sql: """
                UPDATE guess_counter SET wrong_guesses = 0, wrong_guesses_in_all = max(0, wrong_guesses_in_all - 1),
                    last_wrong_at = NULL, locked_at = NULL, last_used_at = ?3, ticket = NULL, held_until = NULL,
                    room = zeroblob(32)
                WHERE number = ?1 AND ticket = ?2
                """)
        giveBack = try db.cachedStatement(
            sql: """
                UPDATE guess_counter SET wrong_guesses = max(0, wrong_guesses - 1),
                    wrong_guesses_in_all = max(0, wrong_guesses_in_all - 1), last_wrong_at = ?3, locked_at = NULL,
                    last_used_at = coalesce(?4, last_used_at), ticket = NULL, held_until = NULL, room = zeroblob(14)
                WHERE number = ?1 AND ticket = ?2
                """)
        noteUse = try db.cachedStatement(
            sql: """
                UPDATE guess_counter SET last_used_at = ?2, wrong_guesses = iif(ticket IS NULL, 0, wrong_guesses),
                    room = iif(ticket IS NULL, zeroblob(32), room),
                    last_wrong_at = iif(ticket IS NULL, NULL, last_wrong_at)
                WHERE number = ?1
                """)
    }

    /// Returns the limits that all instances share.
    static func limits(_ db: Database) throws -> GuessLimits {
        let row = try db.cachedStatement(sql: "SELECT max_guesses, max_guesses_total FROM service").sqliteStatement
        defer { sqlite3_reset(row) }
        let standard = GuessLimits()
        guard try SQLiteCalls.step(row) else { return standard }
        return GuessLimits(
            inARow: SQLiteCalls.number(row, 0).map(Int.init) ?? standard.inARow,
            inAll: SQLiteCalls.number(row, 1).map(Int.init) ?? standard.inAll)
    }

    /// Looks up a key, and charges a guess if there is a ticket for it.
    func find(_ keyID: String, charging guess: (ticket: GuessTicket, time: Int64)? = nil) throws -> KeyRecordOutcome {
        let row = find.sqliteStatement
        defer { sqlite3_reset(row) }
        try SQLiteCalls.bind(keyID, at: 1, to: row)
        guard try SQLiteCalls.step(row) else { return .noSuchKey }
        let isEnded = sqlite3_column_int64(row, 7) != 0
        if let guess, !isEnded, SQLiteCalls.number(row, 5) != nil,
            // A clock that was set back must not hold a key for long.
            (1...GuessTicket.lifetime).contains(sqlite3_column_int64(row, 6).subtractingReportingOverflow(guess.time).0)
        {
            // The guess under way may be right. So its key does not count as locked yet.
            return .held
        }
        let count = GuessCount(
            inARow: Int(sqlite3_column_int64(row, 1)), inAll: Int(sqlite3_column_int64(row, 2)),
            lastWrongAt: SQLiteCalls.number(row, 3))
        let remaining = limits.remaining(after: count)
        guard !isEnded, SQLiteCalls.number(row, 4) == nil, remaining > 0 else { return .locked }
        let number = sqlite3_column_int64(row, 0)
        let record = KeyRecord(
            id: keyID, createdAt: sqlite3_column_int64(row, 8),
            details: try KeyDetails(
                kind: Int(sqlite3_column_int64(row, 9)), bytes: SQLiteCalls.bytes(row, 10)),
            masterKeyID: MasterKeyID(rawValue: UInt64(bitPattern: sqlite3_column_int64(row, 11))),
            content: SQLiteCalls.bytes(row, 12))
        if let guess {
            try SQLiteCalls.run(
                charge.sqliteStatement, number, guess.time, remaining == 1 ? guess.time : nil, guess.ticket.rawValue,
                guess.time + GuessTicket.lifetime)
        }
        return .found(
            FoundKey(
                reference: KeyReference(id: keyID, row: number), record: record, count: count, limits: limits))
    }

    /// Settles a guess, if its ticket is the key's last one.
    func settle(_ key: KeyReference, _ ticket: GuessTicket, _ result: GuessResult, _ db: Database) throws
        -> KeyRecordOutcome
    {
        guard let number = try number(of: key, db) else { return .superseded }
        let ticket = ticket.rawValue
        switch result {
        case .wrong: try SQLiteCalls.run(settleWrong.sqliteStatement, number, ticket)
        case .right(let time): try SQLiteCalls.run(settleRight.sqliteStatement, number, ticket, time)
        case .rightAndKept(let lastWrongAt, let time):
            try SQLiteCalls.run(giveBack.sqliteStatement, number, ticket, lastWrongAt, time)
        case .unused(let lastWrongAt):
            try SQLiteCalls.run(giveBack.sqliteStatement, number, ticket, lastWrongAt, nil)
        }
        return db.changesCount > 0 ? .done : .superseded
    }

    /// Notes that a key was used at `time`.
    func noteUse(_ key: KeyReference, time: Int64, _ db: Database) throws {
        guard let number = try number(of: key, db) else { return }
        try SQLiteCalls.run(noteUse.sqliteStatement, number, time)
    }

    private func number(of key: KeyReference, _ db: Database) throws -> Int64? {
        if let row = key.row { return row }
        let row = try db.cachedStatement(
            sql: "SELECT number FROM key_record WHERE id = ? AND kind <> \(KeyDetails.obliviousKind)"
        ).sqliteStatement
        defer { sqlite3_reset(row) }
        try SQLiteCalls.bind(key.id, at: 1, to: row)
        return try SQLiteCalls.step(row) ? sqlite3_column_int64(row, 0) : nil
    }
}
