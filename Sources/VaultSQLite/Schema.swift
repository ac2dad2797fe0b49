internal import GRDB

/// The tables, and later the steps from older ones. Never change a step of a release: add a new one.
enum Schema {
    /// The mark of our databases in their header, for us and for `file`. "CVlt".
    static let applicationID = 0x4356_6C74

    static var migrator: DatabaseMigrator {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("accounts") { db in
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
                        method TEXT NOT NULL,
                        client_id TEXT NOT NULL,
                        key_service_url TEXT NOT NULL,
                        device_secret BLOB NOT NULL,
                        created_at REAL NOT NULL,
                        refresh_started_at REAL,
                        last_online_at REAL,
                        metadata TEXT,
                        metadata_checksum BLOB,
                        layout BLOB,
                        layout_checksum BLOB,
                        granted_scope TEXT,
                        access_token_type TEXT,
                        access_token_expires_at REAL,
                        refused_at REAL,
                        display_claims TEXT,
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
                        protocol INTEGER,
                        wrapped BLOB NOT NULL,
                        created_at REAL NOT NULL,
                        staged INTEGER NOT NULL,
                        label TEXT,
                        last_used_at REAL,
                        protection BLOB,
                        -- Only for version 2 of the key service's protocol.
                        check_key BLOB,
                        end_signature BLOB,
                        checksum BLOB NOT NULL
                    ) STRICT;
                    CREATE INDEX keyslot_account ON keyslot (account_id);
                    CREATE TABLE item (
                        account_id INTEGER NOT NULL REFERENCES account (id) ON DELETE CASCADE,
                        name TEXT NOT NULL,
                        sealed BLOB NOT NULL,
                        PRIMARY KEY (account_id, name)
                    ) STRICT, WITHOUT ROWID;
                    -- The chunks of an item that is too large for one piece. They are deleted with the item.
                    CREATE TABLE chunk (
                        account_id INTEGER NOT NULL,
                        name TEXT NOT NULL,
                        number INTEGER NOT NULL,
                        sealed BLOB NOT NULL,
                        PRIMARY KEY (account_id, name, number),
                        FOREIGN KEY (account_id, name) REFERENCES item (account_id, name) ON DELETE CASCADE
                    ) STRICT;
                    CREATE TABLE record (name TEXT PRIMARY KEY, value BLOB NOT NULL) STRICT, WITHOUT ROWID;
                    """)
        }
        return migrator
    }
}
