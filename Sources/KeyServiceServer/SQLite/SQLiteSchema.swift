internal import GRDB

/// The tables and the migrations of older databases. Never change a shipped migration.
enum SQLiteSchema {
    /// The migrations. Guess counters have their own table: they change with every request, and many fit on one page.
    static let migrator = {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("1") { db in
            try db.execute(
                sql: """
                    CREATE TABLE key_record (
                        number INTEGER PRIMARY KEY,
                        id TEXT NOT NULL UNIQUE,
                        created_at INTEGER NOT NULL,
                        argon2_passes INTEGER,
                        argon2_memory_kib INTEGER,
                        argon2_lanes INTEGER,
                        salt BLOB NOT NULL,
                        wrapped_by_secret BLOB NOT NULL,
                        wrapped_by_long_secret BLOB NOT NULL
                    ) STRICT;
                    CREATE TABLE guess_counter (
                        number INTEGER PRIMARY KEY REFERENCES key_record ON DELETE CASCADE,
                        wrong_guesses INTEGER NOT NULL,
                        last_used_at INTEGER
                    ) STRICT;
                    CREATE TABLE service (
                        number INTEGER PRIMARY KEY CHECK (number = 1),
                        master_key_check BLOB NOT NULL,
                        checked_in_at INTEGER NOT NULL
                    ) STRICT;
                    """)
        }
        migrator.registerMigration("2") { db in
            // The count in a row is all that is known about a key's past.
            try db.execute(
                sql: """
                    ALTER TABLE guess_counter ADD COLUMN wrong_guesses_in_all INTEGER NOT NULL DEFAULT 0;
                    ALTER TABLE guess_counter ADD COLUMN last_wrong_at INTEGER;
                    UPDATE guess_counter SET wrong_guesses_in_all = wrong_guesses WHERE wrong_guesses > 0;
                    """)
        }
        return migrator
    }()

    static let configuration = {
        var configuration = Configuration()
        configuration.label = "credential-vault.key-service"
        configuration.busyMode = .timeout(5)
        configuration.foreignKeysEnabled = true
        configuration.prepareDatabase { db in
            // Nothing here writes, as the database may be a newer one.
            try db.execute(sql: "PRAGMA synchronous = FULL; PRAGMA secure_delete = ON")
        }
        return configuration
    }()

    /// Migrates the database to this version's schema.
    ///
    /// - Throws: ``KeyServiceServerError`` with code `storeTooNew`. Then nothing was changed.
    static func prepare(_ queue: DatabaseQueue) throws {
        guard try !queue.read({ try migrator.hasBeenSuperseded($0) }) else {
            throw KeyServiceServerError(
                .storeTooNew,
                "A newer version of the key service wrote this database. Nothing was changed. Use that version.")
        }
        try queue.writeWithoutTransaction { try $0.execute(sql: "PRAGMA journal_mode = WAL") }
        try migrator.migrate(queue)
    }
}
