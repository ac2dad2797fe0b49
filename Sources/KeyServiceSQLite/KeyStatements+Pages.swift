internal import KeyServiceCore

// The statements that read many keys, and that copy them to another store.
extension KeyStatements {
    /// Reads a page of keys.
    func page(after row: Int64?, count: Int, of selection: KeySelection) throws -> KeyPage {
        let rows = try cached(
            "SELECT max(number) FROM (SELECT number FROM key_record WHERE number > ?1 ORDER BY number LIMIT ?2)")
        defer { rows.reset() }
        try rows.bind(row ?? .min, at: 1)
        try rows.bind(Int64(count), at: 2)
        guard try rows.step(), let last = rows.optionalNumber(0) else { return KeyPage() }
        let condition =
            switch selection {
            case .all: "TRUE"
            case .unsettled: "(state = \(StoredKey.State.unfinished.rawValue) OR guesses IS NOT NULL)"
            case .notUnder(let id): "master_key <> \(Int64(bitPattern: id.rawValue))"
            }
        let statement = try cached(
            """
            SELECT \(Self.columns) FROM key_record WHERE number > ?1 AND number <= ?2 AND \(condition) ORDER BY number
            """)
        defer { statement.reset() }
        try statement.bind(row ?? .min, at: 1)
        try statement.bind(last, at: 2)
        var page = try page(statement)
        page.last = last
        return page
    }

    /// Reads the keys of an owner.
    func keys(ofOwner owner: [UInt8]) throws -> KeyPage {
        let statement = try cached(
            "SELECT \(Self.columns) FROM key_record WHERE owner = ?1 AND state = 0 ORDER BY number LIMIT 1000")
        defer { statement.reset() }
        try statement.bind(owner, at: 1)
        return try page(statement)
    }

    private func page(_ statement: SQLiteCall) throws -> KeyPage {
        var page = KeyPage()
        while try statement.step() {
            do {
                page.keys.append((statement.number(0), try key(statement)))
            } catch is KeyServiceServerError {
                // One damaged record must not fail the others.
                page.damaged.append(statement.text(1))
            }
        }
        return page
    }

    /// Adds a key, or replaces the key with its id.
    func put(_ key: StoredKey) throws {
        try execute("DELETE FROM key_record WHERE id = ?1") { try $0.bind(key.record.id, at: 1) }
        try insert(key)
    }
}
