#if PostgreSQL
    internal import KeyServiceCore

    /// The tables, and later the migrations of older databases. Never change a migration of a release.
    enum Schema {
        /// The allowed changes of the schema.
        enum Permission: Sendable {
            /// Makes the tables in an empty database, and migrates older ones.
            case create
            /// Migrates older tables.
            case migrate
            /// Changes nothing.
            case none
        }

        /// The number that stands for this schema among the advisory locks of the database.
        private static let lockNumber: Int64 = 0x6376_6b73

        /// A key has one row, with its guesses, so a guess reads one row and writes one. With free space on the pages,
        /// a guess leaves the indexes alone. "version" counts the changes of the row.
        private static let migrations = [
            """
            CREATE TABLE master_key (
                id bigint PRIMARY KEY,
                check_value bytea NOT NULL
            );
            CREATE TABLE service (
                number bigint PRIMARY KEY CHECK (number = 1),
                store_id bytea NOT NULL,
                generation bigint NOT NULL,
                checked_in_at bigint NOT NULL,
                clock_steady_since bigint NOT NULL,
                max_guesses bigint NOT NULL,
                max_guesses_total bigint NOT NULL,
                retired_because text
            );
            INSERT INTO service VALUES (1, uuid_send(gen_random_uuid()), 0, 0, 0, 3, 100, NULL);
            CREATE TABLE running_server (
                number bigint PRIMARY KEY,
                checked_in_at bigint NOT NULL,
                master_keys bytea NOT NULL
            );
            CREATE TABLE service_identity (
                number bigint PRIMARY KEY CHECK (number = 1),
                master_key bigint NOT NULL REFERENCES master_key,
                content bytea NOT NULL
            );
            CREATE TABLE audit_log (
                id bytea PRIMARY KEY
            );
            CREATE TABLE key_record (
                number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
                version bigint NOT NULL DEFAULT 0,
                id text COLLATE "C" NOT NULL UNIQUE,
                created_at bigint NOT NULL,
                kind bigint NOT NULL,
                details bytea NOT NULL,
                master_key bigint NOT NULL REFERENCES master_key,
                content bytea NOT NULL,
                state bigint NOT NULL,
                owner bytea,
                label bytea,
                last_used_at bigint,
                wrong_in_all bigint NOT NULL,
                guesses bytea,
                owner_unlocked_at bigint
            ) WITH (fillfactor = 75);
            CREATE INDEX key_record_by_master_key ON key_record (master_key);
            CREATE INDEX key_record_by_owner ON key_record (owner) WHERE owner IS NOT NULL;
            """
        ]

        /// Makes the tables ready. Several instances may do so at a time.
        ///
        /// - Throws: also `unfit` for a schema that may not be changed.
        static func prepare(
            _ connection: Connection, _ permission: Permission, deadline: ContinuousClock.Instant
        ) throws {
            let found = try version(connection, deadline)
            if found == migrations.count { return }
            guard found <= migrations.count else {
                throw KeyServiceServerError(
                    .storeTooNew,
                    "A newer version of the key service wrote this database. Nothing was changed. Use that version.")
            }
            switch permission {
            case .none where found > 0:
                throw DatabaseFailure.unfit(
                    """
                    An older version of the key service wrote this database. Nothing was changed. Start this version \
                    of the service first.
                    """, .startThisVersion)
            case .none where found == 0, .migrate where found == 0:
                throw DatabaseFailure.unfit(
                    "The database has no tables of the key service. Make them.", .makeTables)
            default: try migrate(connection, deadline)
            }
        }

        private static func migrate(_ connection: Connection, _ deadline: ContinuousClock.Instant) throws {
            do {
                try connection.execute("BEGIN; SELECT pg_advisory_xact_lock(\(lockNumber))", deadline: deadline)
                let hasSchema = try connection.execute(
                    "SELECT count(to_regnamespace('key_service'))", deadline: deadline)
                // Even CREATE SCHEMA IF NOT EXISTS needs the right to make a schema.
                if hasSchema?.optionalText(0, 0) != "1" {
                    try connection.execute("CREATE SCHEMA key_service", deadline: deadline)
                }
                try connection.execute(
                    """
                    CREATE TABLE IF NOT EXISTS schema_version (
                        number bigint PRIMARY KEY CHECK (number = 1), version bigint NOT NULL)
                    """, deadline: deadline)
                // Another instance may have been faster.
                for number in try version(connection, deadline)..<migrations.count {
                    try connection.execute(
                        """
                        \(migrations[number]);
                        INSERT INTO schema_version VALUES (1, \(number + 1))
                            ON CONFLICT (number) DO UPDATE SET version = excluded.version
                        """, deadline: deadline)
                }
                try connection.execute("COMMIT", deadline: deadline)
            } catch {
                _ = try? connection.execute("ROLLBACK", deadline: deadline)
                throw error
            }
        }

        private static func version(_ connection: Connection, _ deadline: ContinuousClock.Instant) throws -> Int {
            let exists = try connection.execute(
                "SELECT count(to_regclass('key_service.schema_version'))", deadline: deadline)
            guard exists?.optionalText(0, 0) == "1" else { return 0 }
            let found = try connection.execute(
                "SELECT coalesce(max(version), 0) FROM key_service.schema_version", deadline: deadline)
            guard let text = found?.optionalText(0, 0), let version = Int(text) else { throw DatabaseFailure.damaged }
            return version
        }
    }
#endif
