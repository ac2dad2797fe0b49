#if PostgreSQL
    internal import KeyServiceServer

    /// The statements of the running service. Each one takes all changes of its kind in a batch.
    ///
    /// The lookups ("asked" is the first table of each join) take the changes in their order, so that two instances
    /// lock the same rows in the same order.
    enum GuessStatements {
        /// Whether another guess has a ticket. Only the clock of the database counts here. A clock that was set
        /// back must not hold a key for long.
        private static let isHeld = """
            (g.ticket IS NOT NULL AND g.held_until BETWEEN clock_timestamp()
                AND clock_timestamp() + interval '\(GuessTicket.lifetime) s')
            """

        /// Whether a key has version 1 of the protocol.
        private static let isOurs = "k.kind <> \(KeyDetails.obliviousKind)"

        /// Charges the guesses that may be charged. Two instances may ask for the same key at a time. The
        /// statement skips a row that another transaction has locked, so nobody waits.
        static let charge = Statement(
            name: "charge",
            sql: """
                WITH free AS (
                    SELECT asked.place, asked.ticket, asked.time, g.number, g.wrong_guesses, g.wrong_guesses_in_all,
                        g.last_wrong_at, k.created_at, k.kind, k.details, k.master_key, k.content, s.max_guesses,
                        s.max_guesses_total
                    FROM unnest($1::text[], $2::bigint[], $3::bigint[]) WITH ORDINALITY
                            AS asked (id, ticket, time, place)
                        JOIN key_record k ON k.id = asked.id JOIN guess_counter g ON g.number = k.number
                        CROSS JOIN service s
                    WHERE k.state = 0 AND \(isOurs) AND g.locked_at IS NULL AND g.wrong_guesses < s.max_guesses
                        AND g.wrong_guesses_in_all < s.max_guesses_total AND NOT \(isHeld)
                    FOR UPDATE OF g SKIP LOCKED)
                UPDATE guess_counter g SET wrong_guesses = g.wrong_guesses + 1,
                    wrong_guesses_in_all = g.wrong_guesses_in_all + 1, last_wrong_at = free.time,
                    ticket = free.ticket, held_until = clock_timestamp() + interval '\(GuessTicket.lifetime) s',
                    locked_at = CASE WHEN g.wrong_guesses + 1 >= free.max_guesses
                        OR g.wrong_guesses_in_all + 1 >= free.max_guesses_total THEN free.time END
                FROM free WHERE g.number = free.number
                RETURNING free.place, free.number, free.wrong_guesses, free.wrong_guesses_in_all, free.last_wrong_at,
                    free.created_at, free.kind, free.details, free.master_key, free.content, free.max_guesses,
                    free.max_guesses_total
                """)

        /// Looks up keys. A key whose last guess is under way does not count as locked yet.
        static let find = Statement(
            name: "find",
            sql: """
                SELECT asked.place, g.number, g.wrong_guesses, g.wrong_guesses_in_all, g.last_wrong_at, k.created_at,
                    k.kind, k.details, k.master_key, k.content, s.max_guesses, s.max_guesses_total,
                    (k.state <> 0 OR NOT \(isHeld) AND (g.locked_at IS NOT NULL OR g.wrong_guesses >= s.max_guesses
                        OR g.wrong_guesses_in_all >= s.max_guesses_total))::int::bigint
                FROM unnest($1::text[]) WITH ORDINALITY AS asked (id, place)
                    JOIN key_record k ON k.id = asked.id AND \(isOurs) JOIN guess_counter g ON g.number = k.number
                    CROSS JOIN service s
                """)

        /// Waits for a charge whose answer was lost, so that the next statement sees it.
        static let awaitCharge = Statement(
            name: "await_charge",
            sql: """
                SELECT g.number FROM guess_counter g JOIN key_record k ON k.number = g.number
                WHERE k.id = ANY ($1::text[]) AND \(isOurs) ORDER BY g.number FOR UPDATE OF g
                """)

        /// Settles guesses, if their tickets are the keys' last ones.
        static let settle = Statement(
            name: "settle",
            sql: """
                UPDATE guess_counter g SET
                    wrong_guesses = CASE asked.result WHEN \(Settling.wrong) THEN g.wrong_guesses
                        WHEN \(Settling.right) THEN 0 ELSE greatest(g.wrong_guesses - 1, 0) END,
                    wrong_guesses_in_all = CASE asked.result WHEN \(Settling.wrong) THEN g.wrong_guesses_in_all
                        ELSE greatest(g.wrong_guesses_in_all - 1, 0) END,
                    last_wrong_at = CASE asked.result WHEN \(Settling.wrong) THEN g.last_wrong_at
                        WHEN \(Settling.right) THEN NULL ELSE asked.last_wrong_at END,
                    locked_at = CASE asked.result WHEN \(Settling.wrong) THEN g.locked_at END,
                    last_used_at = coalesce(asked.used_at, g.last_used_at), ticket = NULL, held_until = NULL
                FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[])
                    AS asked (number, id, ticket, result, last_wrong_at, used_at)
                WHERE g.number = coalesce(
                        asked.number, (SELECT k.number FROM key_record k WHERE k.id = asked.id AND \(isOurs)))
                    AND g.ticket = asked.ticket
                RETURNING asked.ticket
                """)

        /// Notes right long secrets.
        static let noteUse = Statement(
            name: "note_use",
            sql: """
                UPDATE guess_counter g SET last_used_at = asked.used_at,
                    wrong_guesses = CASE WHEN g.ticket IS NULL THEN 0 ELSE g.wrong_guesses END,
                    last_wrong_at = CASE WHEN g.ticket IS NULL THEN NULL ELSE g.last_wrong_at END
                FROM unnest($1::bigint[], $2::text[], $3::bigint[]) AS asked (number, id, used_at)
                WHERE g.number = coalesce(
                        asked.number, (SELECT k.number FROM key_record k WHERE k.id = asked.id AND \(isOurs)))
                """)

        /// Adds keys. If the same record is there already, its row is written again: only a transaction that writes
        /// waits for the standby.
        static let insert = Statement(
            name: "insert",
            sql: """
                WITH added AS (
                    INSERT INTO key_record AS k (id, created_at, kind, details, master_key, content)
                    SELECT * FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bytea[], $5::bigint[], $6::bytea[])
                    ON CONFLICT (id) DO UPDATE SET created_at = excluded.created_at
                        WHERE k.created_at = excluded.created_at AND k.kind = excluded.kind
                            AND k.details = excluded.details AND k.master_key = excluded.master_key
                            AND k.content = excluded.content
                    RETURNING k.number, k.id),
                counted AS (
                    INSERT INTO guess_counter (number) SELECT number FROM added ON CONFLICT (number) DO NOTHING)
                SELECT id FROM added
                """)

        /// Replaces a known content with a new one. The details of a key of version 2 change without its content, so
        /// they stay.
        static let reseal = Statement(
            name: "reseal",
            sql: """
                UPDATE key_record SET kind = $2, master_key = $4, content = $5,
                    details = CASE WHEN kind = \(KeyDetails.obliviousKind) THEN details ELSE $3 END
                WHERE id = $1 AND content = $6 RETURNING number
                """)
    }

    /// The numbers of a ``GuessResult`` in the statement.
    enum Settling {
        static let wrong: Int64 = 0
        static let right: Int64 = 1
        /// Takes back the charge.
        static let takenBack: Int64 = 2
    }
#endif
