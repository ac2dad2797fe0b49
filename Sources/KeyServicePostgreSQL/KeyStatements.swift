#if PostgreSQL
    internal import KeyServiceCore

    /// The statements that read and write keys. Each one takes all keys of a batch.
    ///
    /// Nobody locks a key to read it. Each write adds 1 to the key's version, and is made only if the version is still
    /// the one that was read. So a request that is refused leaves no trace and does not wait for the disk.
    enum KeyStatements {
        /// The columns of a key, as ``KeyRows`` reads them.
        private static let columns = """
            k.number, k.version, k.id, k.created_at, k.kind, k.details, k.master_key, k.content, k.state, k.owner, k.label,
            k.last_used_at, k.wrong_in_all, k.guesses, k.owner_unlocked_at
            """

        /// Reads keys by their ids.
        static let find = Statement(
            name: "find_keys", sql: "SELECT \(columns) FROM key_record k WHERE k.id = ANY ($1::text[])")

        /// Locks the rows whose version is the one that was read. The order is the same in all instances, so that no
        /// two of them wait for each other. "new" must have the columns "number" and "version".
        private static func held(_ columns: String) -> String {
            """
            SELECT \(columns) FROM new JOIN key_record k ON k.number = new.number AND k.version = new.version
            ORDER BY k.number FOR UPDATE OF k
            """
        }

        /// Writes keys. A row that did not change is written, too: so the commit waits for the standby, and no answer
        /// comes from a guess that only this server has.
        static let write = Statement(
            name: "write_keys",
            sql: """
                WITH new AS MATERIALIZED (
                    SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bytea[], $6::bigint[],
                            $7::bytea[], $8::bigint[], $9::bytea[], $10::bytea[], $11::bigint[], $12::bigint[],
                            $13::bytea[], $14::bigint[])
                        AS new (number, version, created_at, kind, details, master_key, content, state, owner, label,
                            last_used_at, wrong_in_all, guesses, owner_unlocked_at)),
                held AS MATERIALIZED (\(held("new.*")))
                UPDATE key_record k SET version = k.version + 1, created_at = held.created_at, kind = held.kind,
                    details = held.details, master_key = held.master_key, content = held.content, state = held.state,
                    owner = held.owner, label = held.label, last_used_at = held.last_used_at,
                    wrong_in_all = held.wrong_in_all, guesses = held.guesses, owner_unlocked_at = held.owner_unlocked_at
                FROM held WHERE k.number = held.number RETURNING k.id
                """)

        /// Deletes keys.
        static let remove = Statement(
            name: "remove_keys",
            sql: """
                WITH new AS MATERIALIZED (
                    SELECT * FROM unnest($1::bigint[], $2::bigint[]) AS new (number, version)),
                held AS MATERIALIZED (\(held("new.number")))
                DELETE FROM key_record k USING held WHERE k.number = held.number RETURNING k.id
                """)

        /// Adds keys. It leaves out a key that another instance has just added.
        static let add = Statement(
            name: "add_keys",
            sql: """
                INSERT INTO key_record AS k (id, created_at, kind, details, master_key, content, state, owner, label,
                    last_used_at, wrong_in_all, guesses, owner_unlocked_at)
                SELECT * FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bytea[], $5::bigint[], $6::bytea[],
                    $7::bigint[], $8::bytea[], $9::bytea[], $10::bigint[], $11::bigint[], $12::bytea[], $13::bigint[])
                ON CONFLICT (id) DO NOTHING RETURNING k.id
                """)

        /// Reads the keys of a page, and the last row that it looks at. $3 is a master key whose records are left out,
        /// $4 whether settled keys are left out.
        static let page = Statement(
            name: "page_of_keys",
            sql: """
                WITH page AS MATERIALIZED (SELECT * FROM key_record WHERE number > $1 ORDER BY number LIMIT $2)
                SELECT \(columns), last.number FROM (SELECT max(number) AS number FROM page) AS last
                    LEFT JOIN page k ON ($3::bigint IS NULL OR k.master_key <> $3) AND ($4::bigint = 0
                        OR k.guesses IS NOT NULL OR k.state = \(StoredKey.State.unfinished.rawValue))
                ORDER BY k.number
                """)

        /// Reads the keys of an owner.
        static let owned = Statement(
            name: "owned_keys",
            sql: "SELECT \(columns) FROM key_record k WHERE k.owner = $1 AND k.state = 0 ORDER BY k.number LIMIT 1000")

        /// Adds keys or replaces them, while the store is retired for a reason.
        static let put = Statement(
            name: "put",
            sql: """
                WITH claim AS MATERIALIZED (
                    SELECT number FROM service WHERE retired_because IS NOT DISTINCT FROM $14 FOR SHARE)
                INSERT INTO key_record AS k (id, created_at, kind, details, master_key, content, state, owner, label,
                    last_used_at, wrong_in_all, guesses, owner_unlocked_at)
                SELECT new.* FROM claim, unnest($1::text[], $2::bigint[], $3::bigint[], $4::bytea[], $5::bigint[],
                    $6::bytea[], $7::bigint[], $8::bytea[], $9::bytea[], $10::bigint[], $11::bigint[], $12::bytea[],
                    $13::bigint[]) AS new
                ON CONFLICT (id) DO UPDATE SET version = k.version + 1, created_at = excluded.created_at,
                    kind = excluded.kind, details = excluded.details, master_key = excluded.master_key,
                    content = excluded.content, state = excluded.state, owner = excluded.owner, label = excluded.label,
                    last_used_at = excluded.last_used_at, wrong_in_all = excluded.wrong_in_all, guesses = excluded.guesses,
                    owner_unlocked_at = excluded.owner_unlocked_at
                RETURNING k.number
                """)
    }

    /// Reads keys.
    enum KeyRows {
        /// A key in the database.
        struct Found {
            let number: Int64
            let version: Int64
            let key: StoredKey
        }

        /// Reads keys by their ids. A damaged one must not fail the others.
        static func byID(_ rows: Rows) throws(DatabaseFailure) -> [String: Result<Found, any Error>] {
            var found: [String: Result<Found, any Error>] = [:]
            for row in 0..<rows.count { found[try rows.text(row, 2)] = Result { try read(rows, row) } }
            return found
        }

        static func page(_ rows: Rows) throws(DatabaseFailure) -> KeyPage {
            var page = KeyPage()
            // A page without keys has a row with its last row.
            for row in 0..<rows.count where try rows.optionalNumber(row, 0) != nil {
                if let found = try? read(rows, row) {
                    page.keys.append((found.number, found.key))
                } else {
                    page.damaged.append(try rows.text(row, 2))
                }
            }
            return page
        }

        private static func read(_ rows: Rows, _ row: Int) throws -> Found {
            do throws(DatabaseFailure) {
                guard let state = StoredKey.State(rawValue: Int(clamping: try rows.number(row, 8))) else {
                    throw .damaged
                }
                let record = KeyRecord(
                    id: try rows.text(row, 2), createdAt: try rows.number(row, 3),
                    details: try details(rows, row),
                    masterKeyID: MasterKeyID(rawValue: UInt64(bitPattern: try rows.number(row, 6))),
                    content: try rows.bytes(row, 7))
                let guesses: [StoredKey.Guess]
                do { guesses = try StoredGuesses.read(rows.optionalBytes(row, 13)) } catch { throw .damaged }
                let key = StoredKey(
                    record: record, state: state, guesses: guesses,
                    // A damaged count must not trap.
                    wrongInAll: Int(clamping: min(max(0, try rows.number(row, 12)), Int64(Int32.max))),
                    owner: rows.optionalBytes(row, 9), label: rows.optionalBytes(row, 10),
                    lastUsedAt: try rows.optionalNumber(row, 11),
                    ownerUnlockedAt: try rows.optionalNumber(row, 14))
                return Found(number: try rows.number(row, 0), version: try rows.number(row, 1), key: key)
            } catch {
                throw KeyServiceServerError.damagedRecord
            }
        }

        private static func details(_ rows: Rows, _ row: Int) throws(DatabaseFailure) -> KeyDetails {
            let (kind, bytes) = (Int(clamping: try rows.number(row, 4)), try rows.bytes(row, 5))
            do { return try KeyDetails(kind: kind, bytes: bytes) } catch { throw .damaged }
        }
    }

    extension Parameters {
        /// Adds the arrays of ``KeyStatements/write``.
        mutating func add(_ found: [(old: KeyRows.Found, new: StoredKey)]) {
            add(found.map(\.old.number))
            add(found.map(\.old.version))
            addValues(found.map(\.new))
        }

        mutating func add(_ keys: [StoredKey]) {
            add(keys.map(\.record.id))
            addValues(keys)
        }

        private mutating func addValues(_ keys: [StoredKey]) {
            add(keys.map(\.record.createdAt))
            add(keys.map { Int64($0.record.details.kind) })
            add(keys.map(\.record.details.bytes))
            add(keys.map { Int64(bitPattern: $0.record.masterKeyID.rawValue) })
            add(keys.map(\.record.content))
            add(keys.map { Int64($0.state.rawValue) })
            add(keys.map(\.owner))
            add(keys.map(\.label))
            add(keys.map(\.lastUsedAt))
            add(keys.map { Int64($0.wrongInAll) })
            add(keys.map { StoredGuesses.bytes($0.guesses) })
            add(keys.map(\.ownerUnlockedAt))
        }
    }
#endif
