#if PostgreSQL
    internal import KeyServiceCore

    /// The standbys and the settings of a server: a charge must survive a failure.
    struct ReplicationCheck: Sendable, Hashable {
        /// The number of standbys that may lack the last charges, with the connections that may be such a standby.
        let asynchronousStandbys: Int
        /// Whether the service's role may not see what the connections are.
        let isBlind: Bool
        /// The timeline of the server. The promotion of a standby begins a new one.
        let timeline: String
        /// Sentences about other settings.
        let warnings: [String]

        /// Asks the server.
        ///
        /// A commit waits for a standby if the list of synchronous standbys is not empty. A standby tells how far it
        /// has replayed the log. A backup, and a program that only stores the log, do not tell this, and nobody can
        /// promote them. Logical replication copies no server, and each role can see its slots. A role without
        /// pg_read_all_stats cannot see the state of a connection, so each connection counts as a standby.
        static func run(
            _ connection: Connection, deadline: ContinuousClock.Instant
        ) throws(DatabaseFailure) -> ReplicationCheck {
            let rows = try connection.execute(
                """
                SELECT current_setting('synchronous_standby_names') <> '',
                    pg_has_role(current_user, 'pg_read_all_stats', 'USAGE'),
                    count(*) FILTER (WHERE r.replay_lsn IS NOT NULL OR r.state IS NULL),
                    substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8),
                    current_setting('fsync')::bool, current_setting('full_page_writes')::bool
                FROM pg_stat_replication r WHERE NOT EXISTS (
                    SELECT FROM pg_replication_slots s WHERE s.active_pid = r.pid AND s.slot_type = 'logical')
                """, deadline: deadline)
            guard let rows, let standbys = rows.optionalText(0, 2).flatMap({ Int($0) }) else {
                throw DatabaseFailure.damaged
            }
            func isTrue(_ column: Int) -> Bool { rows.optionalText(0, column) == "t" }
            var warnings: [String] = []
            if !isTrue(4) { warnings.append("The database has fsync=off. After a power failure, guesses are lost.") }
            if !isTrue(5) {
                warnings.append("The database has full_page_writes=off. A power failure may damage it.")
            }
            let isSynchronous = isTrue(0)
            return ReplicationCheck(
                asynchronousStandbys: isSynchronous ? 0 : standbys, isBlind: !isSynchronous && !isTrue(1),
                timeline: try rows.text(0, 3), warnings: warnings)
        }

        /// The sentence about what the service's role may not see.
        static let blindness = """
            The role of the service cannot tell a backup from an asynchronous standby. Grant pg_read_all_stats to the \
            role.
            """

        /// The reason to refuse the server because of its standbys.
        var refusal: DatabaseFailure {
            .unfit(
                """
                The database has an asynchronous standby. After a failover to it, wrong guesses would not be counted \
                any more. \(isBlind ? Self.blindness + " " : "")Make the standby synchronous: set \
                synchronous_standby_names in postgresql.conf. Or accept more guesses after a failover.
                """, .allowAsynchronousStandby)
        }
    }
#endif
