internal import Foundation
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
        migrator.registerMigration("3") { db in
            db.add(function: joinedBytes)
            db.add(function: numberBytes)
            try db.execute(sql: version3)
            db.remove(function: joinedBytes)
            db.remove(function: numberBytes)
        }
        migrator.registerMigration("4") { db in
            try db.execute(
                sql: """
                    CREATE TABLE service_identity (
                        number INTEGER PRIMARY KEY CHECK (number = 1),
                        master_key INTEGER NOT NULL REFERENCES master_key,
                        content BLOB NOT NULL
                    ) STRICT;
                    """)
        }
        return migrator
    }()

    /// The schema with named master keys, stored locks, tickets and stored limits. The columns "state", "owner" and
    /// "label" and the table "open_try" are for keys of the protocol's version 2. "room" has the most bytes that a row
    /// can grow by. The first guess frees them, so it needs no new page on a full disk.
    private static let version3 = """
        CREATE TABLE master_key (
            id INTEGER PRIMARY KEY,
            check_value BLOB NOT NULL
        ) STRICT;
        INSERT INTO master_key SELECT 0, master_key_check FROM service;

        CREATE TABLE new_service (
            number INTEGER PRIMARY KEY CHECK (number = 1),
            store_id BLOB NOT NULL,
            generation INTEGER NOT NULL,
            checked_in_at INTEGER NOT NULL,
            max_guesses INTEGER,
            max_guesses_total INTEGER,
            retired_because TEXT
        ) STRICT;
        INSERT INTO new_service VALUES (1, randomblob(16), 0, 0, NULL, NULL, NULL);
        DROP TABLE service;
        ALTER TABLE new_service RENAME TO service;

        CREATE TABLE new_key_record (
            number INTEGER PRIMARY KEY AUTOINCREMENT,
            id TEXT NOT NULL UNIQUE,
            created_at INTEGER NOT NULL,
            kind INTEGER NOT NULL,
            details BLOB NOT NULL,
            master_key INTEGER NOT NULL REFERENCES master_key,
            content BLOB NOT NULL,
            state INTEGER NOT NULL DEFAULT 0,
            owner BLOB,
            label BLOB
        ) STRICT;
        INSERT INTO new_key_record (number, id, created_at, kind, details, master_key, content)
            SELECT number, id, created_at, iif(argon2_passes IS NULL, 1, 2),
                iif(argon2_passes IS NULL, salt,
                    joined_bytes(salt, number_bytes(argon2_passes, argon2_memory_kib, argon2_lanes))),
                0, joined_bytes(wrapped_by_secret, wrapped_by_long_secret)
            FROM key_record;
        DROP TABLE key_record;
        ALTER TABLE new_key_record RENAME TO key_record;
        CREATE INDEX key_record_by_master_key ON key_record (master_key);
        CREATE INDEX key_record_by_owner ON key_record (owner) WHERE owner IS NOT NULL;

        ALTER TABLE guess_counter ADD COLUMN locked_at INTEGER;
        ALTER TABLE guess_counter ADD COLUMN ticket INTEGER;
        ALTER TABLE guess_counter ADD COLUMN held_until INTEGER;
        ALTER TABLE guess_counter ADD COLUMN room BLOB;
        UPDATE guess_counter SET room = zeroblob(40);

        CREATE TABLE open_try (
            ticket BLOB PRIMARY KEY,
            number INTEGER NOT NULL REFERENCES key_record ON DELETE CASCADE,
            blinded BLOB NOT NULL,
            opened_at INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX open_try_by_key ON open_try (number);
        """

    /// Joins bytes. SQLite's own || returns a text.
    private static let joinedBytes = DatabaseFunction("joined_bytes", argumentCount: 2, pure: true) { values in
        values.compactMap { Data.fromDatabaseValue($0) }.reduce(Data(), +)
    }

    /// Joins numbers of 4 bytes each, the highest byte first.
    private static let numberBytes = DatabaseFunction("number_bytes", argumentCount: 3, pure: true) { values in
        values.map { UInt32(clamping: Int64.fromDatabaseValue($0) ?? 0) }.reduce(into: Data()) { bytes, number in
            withUnsafeBytes(of: number.bigEndian) { bytes.append(contentsOf: $0) }
        }
    }

    static let configuration = {
        var configuration = Configuration()
        configuration.label = "credential-vault.key-service"
        configuration.busyMode = .timeout(5)
        configuration.foreignKeysEnabled = true
        configuration.prepareDatabase { db in
            // Nothing here writes, because a newer version may have made the database.
            try db.execute(sql: "PRAGMA synchronous = FULL; PRAGMA secure_delete = ON")
        }
        return configuration
    }()

    /// Makes the database ready.
    ///
    /// - Parameter migrates: checks the master key of a database with an older schema, before the schema changes; nil
    ///   if it must not change, because a server may be running.
    /// - Throws: ``KeyServiceServerError`` with code `storeTooNew`, or `configurationInvalid` for an older schema. Then
    ///   nothing was changed.
    static func prepare(_ queue: DatabaseQueue, migrates: ((StoredMasterKey) throws -> Void)?) throws {
        guard try !queue.read({ try migrator.hasBeenSuperseded($0) }) else {
            throw KeyServiceServerError(
                .storeTooNew,
                "A newer version of the key service wrote this database. Nothing was changed. Use that version.")
        }
        if try queue.read({ try migrator.hasCompletedMigrations($0) }) { return }
        guard let migrates else {
            throw KeyServiceServerError(
                .configurationInvalid,
                """
                An older version of the key service wrote this database. Nothing was changed. Stop the old service, \
                and start this version: vault-key-service serve
                """)
        }
        if let check = try queue.read(Self.firstCheck) { try migrates(StoredMasterKey(id: .first, check: check)) }
        try queue.writeWithoutTransaction { try $0.execute(sql: "PRAGMA journal_mode = WAL") }
        try migrator.migrate(queue)
    }

    /// Returns the check value of the master key in a database of the first versions.
    private static func firstCheck(_ db: Database) throws -> [UInt8]? {
        guard try db.tableExists("service"),
            try db.columns(in: "service").contains(where: { $0.name == "master_key_check" })
        else { return nil }
        return try Data.fetchOne(db, sql: "SELECT master_key_check FROM service").map { [UInt8]($0) }
    }
}
