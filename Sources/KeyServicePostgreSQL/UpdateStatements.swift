#if PostgreSQL
    internal import KeyServiceServer

    /// The statements for keys of the protocol's version 2. Each one takes all keys of a batch.
    ///
    /// A transaction that changes a key or its tries first locks the key's row in "key_record".
    enum UpdateStatements {
        static let begin = Statement(name: "begin", sql: "BEGIN")
        static let commit = Statement(name: "commit", sql: "COMMIT")

        /// The columns of a key, as ``ObliviousRows`` reads them.
        static let keyColumns = """
            k.number, k.id, k.created_at, k.kind, k.details, k.master_key, k.content, k.state, k.owner, k.label
            """

        /// Locks and reads the keys with these ids, also those of version 1. The order is the same in all instances, so
        /// that no two of them wait for each other. A lock counts as a change: so the commit waits for the standby,
        /// and no answer comes from a try that only this server has.
        static let lock = Statement(
            name: "lock_keys",
            sql: "SELECT \(keyColumns) FROM key_record k WHERE k.id = ANY ($1::text[]) ORDER BY k.number FOR UPDATE")
        /// Reads the last uses. It comes after the lock, so it sees the changes that the lock has waited for.
        static let uses = Statement(
            name: "uses",
            sql: """
                SELECT g.number, g.last_used_at FROM key_record k JOIN guess_counter g ON g.number = k.number
                WHERE k.id = ANY ($1::text[]) AND k.kind = \(KeyDetails.obliviousKind)
                """)
        /// Reads the tries, after the lock.
        static let tries = Statement(
            name: "tries",
            sql: """
                SELECT t.number, t.ticket, t.blinded, t.opened_at FROM key_record k JOIN open_try t ON t.number = k.number
                WHERE k.id = ANY ($1::text[]) ORDER BY t.opened_at, t.ticket
                """)

        static let remove = Statement(
            name: "remove_keys", sql: "DELETE FROM key_record WHERE number = ANY ($1::bigint[])")
        static let removeTries = Statement(
            name: "remove_tries", sql: "DELETE FROM open_try WHERE ticket = ANY ($1::bytea[])")
        static let addTries = Statement(
            name: "add_tries",
            sql: """
                INSERT INTO open_try (number, ticket, blinded, opened_at)
                SELECT * FROM unnest($1::bigint[], $2::bytea[], $3::bytea[], $4::bigint[])
                """)
        static let write = Statement(
            name: "write_keys",
            sql: """
                UPDATE key_record k SET details = new.details, master_key = new.master_key, content = new.content,
                    state = new.state, owner = new.owner, label = new.label
                FROM unnest($1::bigint[], $2::bytea[], $3::bigint[], $4::bytea[], $5::bigint[], $6::bytea[], $7::bytea[])
                    AS new (number, details, master_key, content, state, owner, label)
                WHERE k.number = new.number
                """)
        static let use = Statement(
            name: "use_keys",
            sql: """
                UPDATE guess_counter g SET last_used_at = new.last_used_at
                FROM unnest($1::bigint[], $2::bigint[]) AS new (number, last_used_at) WHERE g.number = new.number
                """)
        /// Adds keys with their tries. It leaves out a key that another instance has just added.
        static let insert = Statement(
            name: "insert_keys",
            sql: """
                WITH added AS (
                    INSERT INTO key_record (id, created_at, kind, details, master_key, content, state, owner, label)
                    SELECT * FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bytea[], $5::bigint[], $6::bytea[],
                        $7::bigint[], $8::bytea[], $9::bytea[])
                    ON CONFLICT (id) DO NOTHING RETURNING number, id),
                counted AS (
                    INSERT INTO guess_counter (number, last_used_at)
                    SELECT added.number, new.last_used_at
                    FROM added JOIN unnest($1::text[], $10::bigint[]) AS new (id, last_used_at) ON new.id = added.id),
                opened AS (
                    INSERT INTO open_try (number, ticket, blinded, opened_at)
                    SELECT added.number, new.ticket, new.blinded, new.opened_at
                    FROM added JOIN unnest($11::text[], $12::bytea[], $13::bytea[], $14::bigint[])
                        AS new (id, ticket, blinded, opened_at) ON new.id = added.id)
                SELECT id FROM added
                """)
    }

    /// Reads keys of version 2.
    enum ObliviousRows {
        static let damaged = KeyServiceServerError(.storeUnusable, "A record in the database is damaged.")

        /// Reads a key from ``UpdateStatements/keyColumns``.
        static func key(
            _ rows: Rows, _ row: Int, tries: [ObliviousKey.Try], lastUsedAt: Int64?
        ) throws -> ObliviousKey {
            guard let state = ObliviousKey.State(rawValue: Int(clamping: try rows.number(row, 7))) else {
                throw damaged
            }
            return ObliviousKey(
                record: try FoundRows.record(rows, row, from: 2, keyID: rows.text(row, 1)), state: state, tries: tries,
                owner: rows.optionalBytes(row, 8), label: rows.optionalBytes(row, 9), lastUsedAt: lastUsedAt)
        }

        /// Reads tries by the numbers of their keys.
        static func tries(_ rows: Rows) throws(DatabaseFailure) -> [Int64: [ObliviousKey.Try]] {
            var found: [Int64: [ObliviousKey.Try]] = [:]
            for row in 0..<rows.count {
                found[try rows.number(row, 0), default: []].append(
                    ObliviousKey.Try(
                        ticket: try rows.bytes(row, 1), blinded: try rows.bytes(row, 2),
                        openedAt: try rows.number(row, 3)))
            }
            return found
        }
    }
#endif
