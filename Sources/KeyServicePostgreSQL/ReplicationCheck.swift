#if PostgreSQL
    internal import KeyServiceCore

    /// The check of the server's settings: a charge must survive a failure.
    enum ReplicationCheck {
        /// Refuses a server whose standby may lack the last charges, and returns warnings about other settings.
        ///
        /// A user may lack the right to see the kinds of the standbys. But each user can read the list of synchronous
        /// standbys, and a commit waits if this list is not empty.
        static func run(
            _ connection: Connection, allowAsynchronousStandby: Bool, deadline: ContinuousClock.Instant
        ) throws(DatabaseFailure) -> [String] {
            let rows = try connection.execute(
                """
                SELECT current_setting('synchronous_standby_names') = '',
                    (SELECT count(*) FROM pg_stat_replication WHERE coalesce(state, '') <> 'backup') > 0,
                    current_setting('fsync')::bool, current_setting('full_page_writes')::bool
                """, deadline: deadline)
            guard let rows else { throw DatabaseFailure.damaged }
            func isTrue(_ column: Int) -> Bool { rows.optionalText(0, column) == "t" }
            if isTrue(0), isTrue(1), !allowAsynchronousStandby {
                throw DatabaseFailure.unfit(
                    """
                    The database has an asynchronous standby. After a failover to it, wrong guesses would not be \
                    counted any more. Make the standby synchronous: set synchronous_standby_names in postgresql.conf. \
                    Or accept more guesses after a failover.
                    """, .allowAsynchronousStandby)
            }
            var warnings: [String] = []
            if !isTrue(2) { warnings.append("The database has fsync=off. After a power failure, guesses are lost.") }
            if !isTrue(3) {
                warnings.append("The database has full_page_writes=off. A power failure may damage it.")
            }
            return warnings
        }
    }
#endif
