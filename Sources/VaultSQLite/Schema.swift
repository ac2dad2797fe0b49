internal import GRDB

/// The tables. A released step never changes: a new step is added.
enum Schema {
    /// The mark of our databases in their header, for us and for `file`. "CVlt".
    static let applicationID = 0x4356_6C74

    static var migrator: DatabaseMigrator {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("1") { db in
            try db.execute(sql: "PRAGMA application_id = \(applicationID)")
            try db.execute(
                sql: """
                    CREATE TABLE account (
                        id INTEGER PRIMARY KEY,
                        issuer TEXT NOT NULL,
                        subject TEXT NOT NULL,
                        alias TEXT UNIQUE,
                        email TEXT,
                        preferred_username TEXT,
                        client_id TEXT NOT NULL,
                        key_service_url TEXT NOT NULL,
                        device_secret BLOB NOT NULL,
                        created_at REAL NOT NULL,
                        refresh_started_at REAL,
                        checksum BLOB NOT NULL,
                        UNIQUE (subject, issuer)
                    ) STRICT;
                    CREATE INDEX account_email ON account (email) WHERE email IS NOT NULL;
                    CREATE INDEX account_preferred_username ON account (preferred_username)
                        WHERE preferred_username IS NOT NULL;
                    CREATE TABLE keyslot (
                        id TEXT PRIMARY KEY,
                        account_id INTEGER NOT NULL REFERENCES account (id) ON DELETE CASCADE,
                        kind TEXT NOT NULL,
                        salt BLOB NOT NULL,
                        argon2_passes INTEGER NOT NULL,
                        argon2_memory_kib INTEGER NOT NULL,
                        argon2_lanes INTEGER NOT NULL,
                        key_id TEXT NOT NULL,
                        wrapped BLOB NOT NULL,
                        created_at REAL NOT NULL,
                        staged INTEGER NOT NULL,
                        checksum BLOB NOT NULL
                    ) STRICT;
                    CREATE INDEX keyslot_account ON keyslot (account_id);
                    CREATE TABLE item (
                        account_id INTEGER NOT NULL REFERENCES account (id) ON DELETE CASCADE,
                        name TEXT NOT NULL,
                        sealed BLOB NOT NULL,
                        PRIMARY KEY (account_id, name)
                    ) STRICT, WITHOUT ROWID;
                    """)
        }
        migrator.registerMigration("2") { db in
            try db.execute(
                sql: """
                    ALTER TABLE account ADD COLUMN method TEXT NOT NULL DEFAULT 'openid-connect';
                    CREATE TABLE record (name TEXT PRIMARY KEY, value BLOB NOT NULL) STRICT, WITHOUT ROWID;
                    """)
        }
        migrator.registerMigration("3") { db in
            try db.execute(
                sql: """
                    ALTER TABLE account ADD COLUMN last_online_at REAL;
                    ALTER TABLE keyslot ADD COLUMN label TEXT;
                    ALTER TABLE keyslot ADD COLUMN last_used_at REAL;
                    ALTER TABLE keyslot ADD COLUMN protection BLOB;
                    """)
        }
        migrator.registerMigration("layout") { db in
            try db.execute(
                sql: """
                    ALTER TABLE account ADD COLUMN layout BLOB;
                    ALTER TABLE account ADD COLUMN layout_checksum BLOB;
                    """)
        }
        // Old records name a user by an unkeyed hash, and sometimes the user name was a password.
        migrator.registerMigration("attempts") { db in
            try db.execute(sql: "DELETE FROM record WHERE name >= 'attempts ' AND name < 'attempts!'")
        }
        migrator.registerMigration("display") { db in
            try db.execute(
                sql: """
                    ALTER TABLE account ADD COLUMN granted_scope TEXT;
                    ALTER TABLE account ADD COLUMN access_token_expires_at REAL;
                    ALTER TABLE account ADD COLUMN display_claims TEXT;
                    """)
        }
        // The chunks of an item that is too large for one piece. They are deleted with the item, and the item with its
        // account.
        migrator.registerMigration("chunks") { db in
            try db.execute(
                sql: """
                    CREATE TABLE chunk (
                        account_id INTEGER NOT NULL,
                        name TEXT NOT NULL,
                        number INTEGER NOT NULL,
                        sealed BLOB NOT NULL,
                        PRIMARY KEY (account_id, name, number),
                        FOREIGN KEY (account_id, name) REFERENCES item (account_id, name) ON DELETE CASCADE
                    ) STRICT;
                    """)
        }
        // Protocol version 2 of the key service.
        migrator.registerMigration("oblivious") { db in
            try db.execute(
                sql: """
                    ALTER TABLE keyslot ADD COLUMN check_key BLOB;
                    ALTER TABLE keyslot ADD COLUMN end_signature BLOB;
                    """)
        }
        // The items in chunks have heads that an older program takes for damage, so it must refuse the store.
        migrator.registerMigration("item keys") { _ in }
        return migrator
    }
}
