internal import CLinux
internal import CSQLite
internal import Foundation
internal import GRDB
internal import VaultBase
internal import VaultCrypto
internal import VaultStorage

extension SQLiteStore {
    /// Makes the database under another name, and renames it when it is complete. So an empty or incomplete
    /// `vault.sqlite` is always a damaged one, and never a new one.
    static func create(in folder: StoreFolder) throws {
        // Otherwise SQLite would replay the log of another database into the new one.
        guard !folder.hasLogWithoutDatabase else {
            throw StoreError(
                .corrupt,
                "\(folder.database)-wal is there without its database. Put vault.sqlite back, or also move vault.sqlite-wal and vault.sqlite-shm away."
            )
        }
        let draft = folder.path + "/.new-\(UUID().uuidString).sqlite"
        defer { unlink(draft) }
        let descriptor = Foundation.open(draft, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw StoreError(
                .unreadable,
                "The folder \(folder.path) cannot be written: \(StoreFolder.message(errno)). Correct this, then try again."
            )
        }
        defer { close(descriptor) }
        let database = try DatabaseQueue(path: draft)
        try Schema.migrator.migrate(database)
        // Stored in the file's header, so that opening it later need not write.
        try database.writeWithoutTransaction { try $0.execute(sql: "PRAGMA journal_mode = WAL") }
        try database.close()
        guard fsync(descriptor) == 0 else {
            throw StoreError(.unreadable, "The new store cannot be written: \(StoreFolder.message(errno)).")
        }
        // If another process was faster, its database stays.
        guard link(draft, folder.database) == 0 || errno == EEXIST else {
            throw StoreError(.unreadable, "The new store cannot be put in place: \(StoreFolder.message(errno)).")
        }
        folder.synchronize()
    }

    /// Opens a store that is only to be read, and that nobody has to wait for: for a shell that completes names.
    ///
    /// - Throws: ``StoreError`` with code `unreadable` when there is no store, or when an older program wrote it.
    static func openForReading(_ folder: StoreFolder) throws -> DatabaseQueue {
        guard try folder.databaseSize() > 0 else {
            throw StoreError(.unreadable, "There is no store in \(folder.path).")
        }
        var configuration = Configuration()
        configuration.readonly = true
        configuration.busyMode = .timeout(1)
        configuration.label = "credential-vault.names"
        configuration.prepareDatabase { try $0.execute(sql: "PRAGMA trusted_schema = OFF") }
        let database = try DatabaseQueue(path: folder.database, configuration: configuration)
        let isOurs = try database.read { db in
            try Int.fetchOne(db, sql: "PRAGMA application_id") == Schema.applicationID
                && Schema.migrator.hasCompletedMigrations(db) && !Schema.migrator.hasBeenSuperseded(db)
        }
        guard isOurs else {
            throw StoreError(.unreadable, "\(folder.database) was made by another version of this program.")
        }
        return database
    }

    static func open(_ folder: StoreFolder) throws -> DatabaseQueue {
        var configuration = Configuration()
        // GRDB's own journalMode = .wal would write to the file at once, even to another program's file, and lower
        // synchronous to NORMAL.
        configuration.busyMode = .timeout(20)
        configuration.foreignKeysEnabled = true
        configuration.label = "credential-vault.store"
        configuration.prepareDatabase { db in
            // If the file turns out to be wrong, closing it must not write to it or remove its log.
            try keepLog(db, true)
            try db.execute(
                sql: """
                    PRAGMA synchronous = FULL; PRAGMA secure_delete = ON; PRAGMA trusted_schema = OFF;
                    PRAGMA wal_autocheckpoint = 100
                    """)
        }
        guard try folder.databaseSize() > 0 else {
            throw StoreError(
                .corrupt,
                "\(folder.database) is empty, so it is damaged. Restore vault.sqlite and its -wal file from one backup. To start again without data, move vault.sqlite, vault.sqlite-wal and vault.sqlite-shm away."
            )
        }
        let database = try DatabaseQueue(path: folder.database, configuration: configuration)
        let (isOurs, isNewer, isComplete) = try database.read { db in
            try (
                Int.fetchOne(db, sql: "PRAGMA application_id") == Schema.applicationID,
                Schema.migrator.hasBeenSuperseded(db), Schema.migrator.hasCompletedMigrations(db)
            )
        }
        guard isOurs else {
            throw StoreError(.corrupt, "\(folder.database) is not a store of Credential Vault. Move it away.")
        }
        guard !isNewer else {
            throw StoreError(
                .newerVersion,
                "\(folder.database) was made by a newer version of this program. Update this program.")
        }
        if !isComplete { try migrate(database) }
        try database.writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA journal_mode = WAL")
            try keepLog(db, false)
        }
        return database
    }

    /// Brings the tables to this version. If another program does so at the same moment, only the remaining steps are
    /// done here.
    private static func migrate(_ database: DatabaseQueue) throws {
        var applied = try database.read(Schema.migrator.appliedIdentifiers).count
        while true {
            do {
                return try Schema.migrator.migrate(database)
            } catch {
                let now = try database.read(Schema.migrator.appliedIdentifiers).count
                guard now > applied else { throw error }
                applied = now
            }
        }
    }

    private static func keepLog(_ db: Database, _ keep: Bool) throws {
        guard let connection = db.sqliteConnection,
            sqlite_keep_log_on_close(UnsafeMutableRawPointer(connection), keep ? 1 : 0) == SQLITE_OK
        else { throw StoreError(.unreadable, "The store cannot be opened.") }
    }
}

/// Turns errors of SQLite and the file system into errors that a caller can act on.
extension StoreFolder {
    func translatingBlockingErrors<R>(_ body: () throws -> R) throws -> R {
        do { return try body() } catch { throw translated(error) }
    }

    func translatingErrors<R>(_ body: () async throws -> R) async throws -> R {
        do { return try await body() } catch { throw translated(error) }
    }

    private func translated(_ error: any Error) -> any Error {
        if error is RowDecodingError {
            // It is not kept as the underlying error, because it would print the row with the device secret.
            return StoreError(
                .corrupt,
                "The store is damaged: a value has the wrong type. Restore vault.sqlite and its -wal file from one backup."
            )
        }
        guard let error = error as? DatabaseError else { return error }
        switch error.resultCode {
        case .SQLITE_CORRUPT, .SQLITE_NOTADB, .SQLITE_FORMAT, .SQLITE_MISMATCH:
            return StoreError(
                .corrupt, "The store is damaged. Restore vault.sqlite and its -wal file from one backup.",
                underlying: error)
        case .SQLITE_BUSY, .SQLITE_LOCKED:
            return StoreError(.busy, "Another program is writing to the store. Try again.", underlying: error)
        case .SQLITE_FULL:
            return StoreError(.unreadable, "The disk is full. Nothing was changed.", underlying: error)
        case .SQLITE_READONLY:
            return StoreError(
                .unreadable,
                "The store cannot be written: the disk or the file is read-only. Make it writable, then try again.",
                underlying: error)
        case .SQLITE_CANTOPEN, .SQLITE_PERM, .SQLITE_AUTH:
            // SQLite needs a file for the shared memory of its users, even to read.
            return StoreError(.unreadable, obstacle ?? "The store cannot be opened.", underlying: error)
        case .SQLITE_ERROR:
            // The statements are fixed and tested, so the database must be wrong.
            return StoreError(
                .corrupt,
                "The store is damaged: a part is missing. Restore vault.sqlite and its -wal file from one backup.",
                underlying: error)
        default:
            // A full disk can also appear as one of several I/O errors.
            return StoreError(
                .unreadable,
                obstacle
                    ?? "The store cannot be read or written right now (SQLite code \(error.resultCode.rawValue)).",
                underlying: error)
        }
    }
}

extension StoreFolder {
    /// Returns the lock file of an account. Its name reveals nothing, and any subject fits into it.
    func lockFile(of id: AccountID) -> String {
        let digest = Checksum.of([Array(id.issuer.utf8), Array(id.subject.utf8)]).prefix(16)
        return path + "/." + Hexadecimal.text(digest) + ".lock"
    }

    /// The reason why nobody can write here, if it can be found.
    private var obstacle: String? {
        if access(path, W_OK) != 0 {
            return errno == EROFS
                ? "The store cannot be used: the disk is read-only."
                : "The store cannot be used: \(Self.message(errno))."
        }
        var info = statvfs()
        guard statvfs(path, &info) == 0, info.f_bavail == 0 else { return nil }
        return "The disk is full. Nothing was changed."
    }

    func databaseSize() throws -> Int {
        var info = stat()
        guard lstat(database, &info) == 0 else {
            throw StoreError(.unreadable, "\(database) cannot be read: \(Self.message(errno)).")
        }
        return Int(info.st_size)
    }

    /// Makes the folder's entries durable. Some file systems cannot do it, and the store works without it.
    func synchronize() {
        let descriptor = Foundation.open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        fsync(descriptor)
        close(descriptor)
    }

    /// Reserves blocks at the end of SQLite's log. The commit of a token that the provider has already rotated must not
    /// meet a full disk. The file keeps its size, so SQLite does not notice.
    func reserveSpaceForCommit() throws {
        let log = database + "-wal"
        let descriptor = Foundation.open(log, O_RDWR | O_CLOEXEC)
        guard descriptor >= 0 else { return }  // no log: SQLite reports the error at the commit
        defer { close(descriptor) }
        var info = stat()
        guard fstat(descriptor, &info) == 0 else { return }
        // Enough for every page that a refresh changes, even with the largest answer of a provider.
        guard linux_fallocate_keep_size(descriptor, info.st_size, 4 << 20) != 0, errno == ENOSPC || errno == EDQUOT
        else { return }
        throw StoreError(
            .unreadable,
            "The disk is full. Nothing was sent to the identity provider, and nothing was changed. Free disk space, then try again."
        )
    }
}
