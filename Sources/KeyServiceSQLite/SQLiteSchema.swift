internal import CSQLite
internal import GRDB
internal import KeyServiceCore

/// The tables, and later the migrations of older databases. Never change a migration of a release.
enum SQLiteSchema {
    /// The tables. A key has one row, with its guesses, so a guess reads one row and writes one. "room" has the bytes
    /// that the next guess takes. "server_master_keys" has the master keys of the only server while it runs. "spare"
    /// stays empty. Rows that are added and deleted there leave free pages in the file.
    private static let migrator = {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("keys") { db in
            try db.execute(
                sql: """
                    CREATE TABLE master_key (
                        id INTEGER PRIMARY KEY,
                        check_value BLOB NOT NULL
                    ) STRICT;
                    CREATE TABLE service (
                        number INTEGER PRIMARY KEY CHECK (number = 1),
                        store_id BLOB NOT NULL,
                        generation INTEGER NOT NULL,
                        checked_in_at INTEGER NOT NULL,
                        clock_steady_since INTEGER NOT NULL,
                        server_master_keys BLOB,
                        max_guesses INTEGER NOT NULL,
                        max_guesses_total INTEGER NOT NULL,
                        retired_because TEXT
                    ) STRICT;
                    CREATE TABLE service_identity (
                        number INTEGER PRIMARY KEY CHECK (number = 1),
                        master_key INTEGER NOT NULL REFERENCES master_key,
                        content BLOB NOT NULL
                    ) STRICT;
                    CREATE TABLE audit_log (
                        id BLOB NOT NULL PRIMARY KEY
                    ) STRICT;
                    CREATE TABLE key_record (
                        number INTEGER PRIMARY KEY AUTOINCREMENT,
                        id TEXT NOT NULL UNIQUE,
                        created_at INTEGER NOT NULL,
                        kind INTEGER NOT NULL,
                        details BLOB NOT NULL,
                        master_key INTEGER NOT NULL REFERENCES master_key,
                        content BLOB NOT NULL,
                        state INTEGER NOT NULL,
                        owner BLOB,
                        label BLOB,
                        last_used_at INTEGER,
                        wrong_in_all INTEGER NOT NULL,
                        guesses BLOB,
                        room BLOB,
                        owner_unlocked_at INTEGER
                    ) STRICT;
                    CREATE INDEX key_record_by_master_key ON key_record (master_key);
                    CREATE INDEX key_record_by_owner ON key_record (owner) WHERE owner IS NOT NULL;
                    CREATE TABLE spare (bytes BLOB NOT NULL) STRICT;
                    """)
            let limits = GuessLimits()
            try db.execute(
                sql: "INSERT INTO service VALUES (1, randomblob(16), 0, 0, 0, NULL, ?, ?, NULL)",
                arguments: [limits.inARow, limits.inAll])
        }
        return migrator
    }()

    static let configuration = {
        var configuration = Configuration()
        configuration.label = "credential-vault.key-service"
        configuration.busyMode = .timeout(5)
        configuration.foreignKeysEnabled = true
        configuration.prepareDatabase { db in
            // Nothing here writes, because a newer version may have made the database. Nor may closing it write, as
            // SQLite then moves the log of a killed server into the database.
            try keepLog(db, true)
            // 64 MiB have the pages of about 150,000 keys. With SQLite's usual 2 MiB, it reads most pages again and again.
            try db.execute(
                sql: "PRAGMA synchronous = FULL; PRAGMA secure_delete = ON; PRAGMA cache_size = -65536")
        }
        return configuration
    }()

    /// Makes the database ready.
    ///
    /// - Parameter mayChange: whether the tables may be made or changed. A server may be running otherwise.
    /// - Throws: ``KeyServiceServerError`` with code `storeTooNew`, or `configurationInvalid` for an older schema. Then
    ///   nothing was changed.
    static func prepare(_ queue: DatabaseQueue, mayChange: Bool) throws {
        guard try !queue.read({ try migrator.hasBeenSuperseded($0) }) else {
            throw KeyServiceServerError(
                .storeTooNew,
                "A newer version of the key service wrote this database. Nothing was changed. Use that version.")
        }
        let isComplete = try queue.read { try migrator.hasCompletedMigrations($0) }
        guard isComplete || mayChange else {
            throw KeyServiceServerError(
                .configurationInvalid,
                """
                An older version of the key service wrote this database. Nothing was changed. Stop the old service, \
                and start this version.
                """, remedy: .startThisVersion)
        }
        if !isComplete {
            try queue.writeWithoutTransaction { try $0.execute(sql: "PRAGMA journal_mode = WAL") }
            try migrator.migrate(queue)
        }
        try queue.writeWithoutTransaction { try keepLog($0, false) }
    }

    private static func keepLog(_ db: Database, _ keep: Bool) throws {
        guard let connection = db.sqliteConnection,
            sqlite_keep_log_on_close(UnsafeMutableRawPointer(connection), keep ? 1 : 0) == SQLITE_OK
        else { throw KeyServiceServerError(.storeUnusable, "The database cannot be opened.") }
    }
}
