#if PostgreSQL
    internal import KeyServiceServer

    /// The statements of the operator's calls.
    enum OperatorStatements {
        /// Locks the keys whose guesses are used up. It comes before a change of the limits.
        static let lockUsedUp = Statement(
            name: "lock_used_up",
            sql: """
                UPDATE guess_counter g SET locked_at = extract(epoch FROM clock_timestamp())::bigint FROM service s
                WHERE g.locked_at IS NULL
                    AND (g.wrong_guesses >= s.max_guesses OR g.wrong_guesses_in_all >= s.max_guesses_total)
                """)
        static let setLimits = Statement(
            name: "set_limits", sql: "UPDATE service SET max_guesses = $1, max_guesses_total = $2")

        static let addMasterKey = Statement(
            name: "add_master_key",
            sql: "INSERT INTO master_key (id, check_value) VALUES ($1, $2) ON CONFLICT (id) DO NOTHING")
        static let removeMasterKey = Statement(
            name: "remove_master_key",
            sql: "DELETE FROM master_key WHERE id = $1 AND NOT EXISTS (SELECT FROM key_record WHERE master_key = $1)")
        static let masterKeyExists = Statement(
            name: "master_key_exists", sql: "SELECT count(*) FROM master_key WHERE id = $1")

        private static let recordColumns = "k.number, k.id, k.created_at, k.kind, k.details, k.master_key, k.content"

        static let records = Statement(
            name: "records",
            sql: """
                SELECT \(recordColumns) FROM key_record k WHERE k.number > $1 AND k.master_key <> $3
                ORDER BY k.number LIMIT $2
                """)
        /// All values of the keys. The last column is 0 for a key in use, 1 for a locked one, 2 for a revoked one.
        static let keys = Statement(
            name: "keys",
            sql: """
                SELECT \(recordColumns), g.wrong_guesses, g.wrong_guesses_in_all, g.last_wrong_at, g.last_used_at,
                    CASE WHEN k.state <> 0 THEN 2::bigint WHEN g.locked_at IS NOT NULL OR g.wrong_guesses >= s.max_guesses
                        OR g.wrong_guesses_in_all >= s.max_guesses_total THEN 1 ELSE 0 END
                FROM key_record k JOIN guess_counter g ON g.number = k.number CROSS JOIN service s
                WHERE k.number > $1 ORDER BY k.number LIMIT $2
                """)
        static let counts = Statement(
            name: "counts", sql: "SELECT master_key, count(*) FROM key_record GROUP BY master_key")

        /// A guess that is under way loses its ticket, so it is not taken back a second time.
        static let unlock = Statement(
            name: "unlock",
            sql: """
                UPDATE guess_counter g SET wrong_guesses = 0, wrong_guesses_in_all = 0, last_wrong_at = NULL,
                    locked_at = NULL, ticket = NULL, held_until = NULL
                FROM key_record k WHERE k.id = $1 AND k.state = 0 AND g.number = k.number RETURNING k.id
                """)
        static let revoke = Statement(
            name: "revoke",
            sql: """
                UPDATE key_record SET state = \(revokedState) WHERE id = $1 RETURNING id
                """)
        static let delete = Statement(name: "delete", sql: "DELETE FROM key_record WHERE id = $1 RETURNING id")

        static let setGeneration = Statement(name: "set_generation", sql: "UPDATE service SET generation = $1")
        static let leaveOneGuess = Statement(
            name: "leave_one_guess",
            sql: """
                UPDATE guess_counter g SET ticket = NULL, held_until = NULL,
                    wrong_guesses = greatest(g.wrong_guesses, s.max_guesses - 1)
                FROM service s
                """)
        static let retire = Statement(
            name: "retire",
            sql: """
                UPDATE service SET retired_because = $1 WHERE retired_because IS NOT DISTINCT FROM $2 RETURNING number
                """)

        /// Deletes a key while the store is retired for a reason. The lock of the row keeps that reason until the commit.
        static let deleteRetired = Statement(
            name: "delete_retired",
            sql: """
                WITH claim AS MATERIALIZED (
                    SELECT number FROM service WHERE retired_because IS NOT DISTINCT FROM $2 FOR SHARE),
                gone AS (DELETE FROM key_record k USING claim WHERE k.id = $1)
                SELECT number FROM claim
                """)

        /// Adds keys with their counters, or replaces them, while the store is retired for a reason.
        static let put = Statement(
            name: "put",
            sql: """
                WITH claim AS MATERIALIZED (
                    SELECT number FROM service WHERE retired_because IS NOT DISTINCT FROM $13 FOR SHARE),
                asked AS MATERIALIZED (
                    SELECT asked.* FROM claim, unnest($1::text[], $2::bigint[], $3::bigint[], $4::bytea[], $5::bigint[], $6::bytea[],
                            $7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[], $12::bigint[])
                        AS asked (id, created_at, kind, details, master_key, content, wrong_guesses,
                            wrong_guesses_in_all, last_wrong_at, last_used_at, locked_at, state)),
                kept AS (
                    INSERT INTO key_record (id, created_at, kind, details, master_key, content, state)
                    SELECT id, created_at, kind, details, master_key, content, state FROM asked
                    ON CONFLICT (id) DO UPDATE SET created_at = excluded.created_at, kind = excluded.kind,
                        details = excluded.details, master_key = excluded.master_key, content = excluded.content,
                        state = excluded.state
                    RETURNING number, id)
                INSERT INTO guess_counter (number, wrong_guesses, wrong_guesses_in_all, last_wrong_at, last_used_at,
                    locked_at)
                SELECT kept.number, wrong_guesses, wrong_guesses_in_all, last_wrong_at, last_used_at, locked_at
                FROM asked JOIN kept ON kept.id = asked.id
                ON CONFLICT (number) DO UPDATE SET wrong_guesses = excluded.wrong_guesses,
                    wrong_guesses_in_all = excluded.wrong_guesses_in_all, last_wrong_at = excluded.last_wrong_at,
                    last_used_at = excluded.last_used_at, locked_at = excluded.locked_at, ticket = NULL,
                    held_until = NULL
                RETURNING number
                """)

        /// The value of the column "state" for a revoked key.
        static let revokedState: Int64 = 3
    }
#endif
