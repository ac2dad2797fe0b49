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
            sql: """
                DELETE FROM master_key WHERE id = $1 AND NOT EXISTS (SELECT FROM key_record WHERE master_key = $1)
                    AND NOT EXISTS (SELECT FROM service_identity WHERE master_key = $1)
                """)
        static let masterKeyExists = Statement(
            name: "master_key_exists", sql: "SELECT count(*) FROM master_key WHERE id = $1")

        private static let isOblivious = "k.kind = \(KeyDetails.obliviousKind)"

        static let records = Statement(
            name: "records",
            sql: """
                SELECT \(UpdateStatements.keyColumns) FROM key_record k WHERE k.number > $1 AND k.master_key <> $3
                ORDER BY k.number LIMIT $2
                """)
        /// All values of the keys but their tries. For keys of version 1, the last column is 0 for a key in use, 1 for a
        /// locked one, 2 for a revoked one.
        static let keys = Statement(
            name: "keys",
            sql: """
                SELECT \(UpdateStatements.keyColumns), g.wrong_guesses, g.wrong_guesses_in_all, g.last_wrong_at,
                    g.last_used_at, CASE WHEN k.state <> 0 THEN 2::bigint
                        WHEN g.locked_at IS NOT NULL OR g.wrong_guesses >= s.max_guesses
                            OR g.wrong_guesses_in_all >= s.max_guesses_total THEN 1 ELSE 0 END
                FROM key_record k JOIN guess_counter g ON g.number = k.number CROSS JOIN service s
                WHERE k.number > $1 ORDER BY k.number LIMIT $2
                """)
        /// The tries of the same keys.
        static let tries = Statement(
            name: "tries_of_keys",
            sql: """
                SELECT t.number, t.ticket, t.blinded, t.opened_at
                FROM (SELECT k.number FROM key_record k WHERE k.number > $1 ORDER BY k.number LIMIT $2) AS page
                    JOIN open_try t ON t.number = page.number
                ORDER BY t.opened_at, t.ticket
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
        /// Locks a live key of version 2. The statements after it see all tries of the key.
        static let lockLive = Statement(
            name: "lock_live",
            sql: "SELECT k.number FROM key_record k WHERE k.id = $1 AND \(isOblivious) AND k.state = 0 FOR UPDATE")
        /// Removes the tries of a live key.
        static let removeTries = Statement(
            name: "remove_all_tries",
            sql: """
                DELETE FROM open_try t USING key_record k
                WHERE k.id = $1 AND \(isOblivious) AND k.state = 0 AND t.number = k.number
                """)

        /// A key of version 2 loses the second half of its content. Its final state stays.
        static let revoke = Statement(
            name: "revoke",
            sql: """
                UPDATE key_record k SET
                    state = CASE WHEN \(isOblivious) AND \(isFinal) THEN k.state ELSE \(revokedState) END,
                    content = CASE WHEN \(isOblivious) AND NOT \(isFinal) THEN \(withoutKey) ELSE k.content END
                WHERE k.id = $1 RETURNING k.id
                """)
        /// Removes what an ended key must not have. It comes after ``revoke``.
        static let removeEndedTries = Statement(
            name: "remove_ended_tries",
            sql: "DELETE FROM open_try t USING key_record k WHERE k.id = $1 AND t.number = k.number AND \(isFinal)")
        /// Removes what ended keys must not have. It comes after ``destroy``.
        static let removeAllEndedTries = Statement(
            name: "remove_all_ended_tries",
            sql: "DELETE FROM open_try t USING key_record k WHERE t.number = k.number AND \(isFinal)")
        private static let isFinal = "k.state > \(ObliviousKey.State.unfinished.rawValue)"
        /// The part of a content that stays when a key ends: its first half.
        private static let withoutKey = "substring(k.content FROM 1 FOR length(k.content) / 2)"

        static let removeUnfinished = Statement(
            name: "remove_unfinished",
            sql: """
                DELETE FROM key_record k
                WHERE \(isOblivious) AND k.state = \(ObliviousKey.State.unfinished.rawValue) AND k.created_at <= $1
                RETURNING k.number
                """)
        private static let isLockedForLong = """
            \(isOblivious) AND k.state = 0 AND k.number IN (
                SELECT t.number FROM open_try t GROUP BY t.number
                HAVING count(*) >= (SELECT max_guesses FROM service) AND max(t.opened_at) <= $1)
            """
        /// Locks the keys that were full for too long. A confirm under way may still save one.
        static let lockLockedForLong = Statement(
            name: "lock_locked_for_long",
            sql: """
                SELECT count(*) FROM (
                    SELECT k.number FROM key_record k WHERE \(isLockedForLong) ORDER BY k.number FOR UPDATE) AS locked
                """)
        static let destroy = Statement(
            name: "destroy",
            sql: """
                UPDATE key_record k SET state = \(ObliviousKey.State.destroyed.rawValue), content = \(withoutKey)
                WHERE \(isLockedForLong) RETURNING k.number
                """)

        /// Ends live keys whose owner is nobody yet, $1. A claim under way may still save one.
        static let endUnclaimed = Statement(
            name: "end_unclaimed",
            sql: """
                UPDATE key_record k SET state = \(ObliviousKey.State.ended.rawValue), content = \(withoutKey)
                WHERE k.owner = $1 AND \(isOblivious) AND k.state = 0 AND k.created_at <= $2 RETURNING k.number
                """)

        /// Keeps the keys that nobody claimed yet. $1 is the owner that such a key has.
        static let keepUnclaimed = Statement(
            name: "keep_unclaimed", sql: "UPDATE key_record SET owner = NULL WHERE owner = $1")

        /// Locks all live keys of version 2.
        static let lockAllLive = Statement(
            name: "lock_all_live",
            sql: """
                SELECT count(*) FROM (
                    SELECT k.number FROM key_record k WHERE \(isOblivious) AND k.state = 0
                    ORDER BY k.number FOR UPDATE) AS locked
                """)
        /// Adds tries whose tickets nobody has, until each live key has one try left.
        static let fillTries = Statement(
            name: "fill_tries",
            sql: """
                INSERT INTO open_try (number, ticket, blinded, opened_at)
                SELECT k.number, uuid_send(gen_random_uuid()),
                    uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()), $1
                FROM service s CROSS JOIN key_record k
                    CROSS JOIN LATERAL (SELECT count(*) AS count FROM open_try t WHERE t.number = k.number) AS open
                    CROSS JOIN LATERAL generate_series(open.count + 1, s.max_guesses - 1)
                WHERE \(isOblivious) AND k.state = 0
                """)
        /// Fills the keys that have no try left up to a higher limit, $1. It comes before a change of the limits.
        static let keepFull = Statement(
            name: "keep_full",
            sql: """
                INSERT INTO open_try (number, ticket, blinded, opened_at)
                SELECT k.number, uuid_send(gen_random_uuid()),
                    uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()), open.youngest
                FROM service s CROSS JOIN key_record k
                    CROSS JOIN LATERAL (SELECT count(*) AS count, max(t.opened_at) AS youngest FROM open_try t
                        WHERE t.number = k.number) AS open
                    CROSS JOIN LATERAL generate_series(open.count + 1, $1)
                WHERE \(isOblivious) AND k.state = 0 AND open.count >= s.max_guesses
                """)
        /// Leaves one try to keys that have one left now, but none under a lower limit, $1. Otherwise they would count
        /// as locked, and be destroyed after a while. It comes before a change of the limits.
        static let keepOneTry = Statement(
            name: "keep_one_try",
            sql: """
                DELETE FROM open_try WHERE ticket IN (
                    SELECT open.ticket FROM (
                        SELECT t.ticket, count(*) OVER (PARTITION BY t.number) AS count,
                            row_number() OVER (PARTITION BY t.number ORDER BY t.opened_at DESC, t.ticket DESC) AS place
                        FROM open_try t JOIN key_record k ON k.number = t.number
                        WHERE \(isOblivious) AND k.state = 0) AS open CROSS JOIN service s
                    WHERE open.count >= $1 AND open.count < s.max_guesses AND open.place <= open.count - $1 + 1)
                """)
        /// Removes the unfinished keys. After a rollback, a recorded confirm would finish one with all its guesses.
        static let removeAllUnfinished = Statement(
            name: "remove_all_unfinished",
            sql: """
                DELETE FROM key_record k
                WHERE \(isOblivious) AND k.state = \(ObliviousKey.State.unfinished.rawValue)
                """)
        /// The live and ended keys of an owner, and their tries.
        static let ownedKeys = Statement(
            name: "owned_keys",
            sql: """
                SELECT \(UpdateStatements.keyColumns), g.wrong_guesses, g.wrong_guesses_in_all, g.last_wrong_at,
                    g.last_used_at, 0::bigint
                FROM key_record k JOIN guess_counter g ON g.number = k.number
                WHERE k.owner = $1 ORDER BY k.number LIMIT 1000
                """)
        static let ownedTries = Statement(
            name: "tries_of_owned_keys",
            sql: """
                SELECT t.number, t.ticket, t.blinded, t.opened_at
                FROM key_record k JOIN open_try t ON t.number = k.number WHERE k.owner = $1
                ORDER BY t.opened_at, t.ticket
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
                    SELECT number FROM service WHERE retired_because IS NOT DISTINCT FROM $15 FOR SHARE),
                asked AS MATERIALIZED (
                    SELECT asked.* FROM claim, unnest($1::text[], $2::bigint[], $3::bigint[], $4::bytea[], $5::bigint[],
                            $6::bytea[], $7::bigint[], $8::bytea[], $9::bytea[], $10::bigint[], $11::bigint[],
                            $12::bigint[], $13::bigint[], $14::bigint[])
                        AS asked (id, created_at, kind, details, master_key, content, state, owner, label,
                            wrong_guesses, wrong_guesses_in_all, last_wrong_at, last_used_at, locked_at)),
                kept AS (
                    INSERT INTO key_record (id, created_at, kind, details, master_key, content, state, owner, label)
                    SELECT id, created_at, kind, details, master_key, content, state, owner, label FROM asked
                    ON CONFLICT (id) DO UPDATE SET created_at = excluded.created_at, kind = excluded.kind,
                        details = excluded.details, master_key = excluded.master_key, content = excluded.content,
                        state = excluded.state, owner = excluded.owner, label = excluded.label
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
        /// Removes the tries of keys that were put.
        static let removePutTries = Statement(
            name: "remove_put_tries",
            sql: """
                DELETE FROM open_try t USING key_record k, service s
                WHERE k.id = ANY ($1::text[]) AND t.number = k.number AND s.retired_because IS NOT DISTINCT FROM $2
                """)
        static let putTries = Statement(
            name: "put_tries",
            sql: """
                INSERT INTO open_try (number, ticket, blinded, opened_at)
                SELECT k.number, new.ticket, new.blinded, new.opened_at
                FROM service s CROSS JOIN unnest($1::text[], $2::bytea[], $3::bytea[], $4::bigint[])
                    AS new (id, ticket, blinded, opened_at) JOIN key_record k ON k.id = new.id
                WHERE s.retired_because IS NOT DISTINCT FROM $5
                """)

        /// The value of the column "state" for a revoked key.
        static let revokedState: Int64 = 3
    }
#endif
