internal import Foundation
internal import GRDB
public import VaultStorage

/// The store on disk: one SQLite database for all accounts of a user of this machine.
public final class SQLiteStore: SecureStore {
    let folder: StoreFolder
    let database: DatabaseQueue
    private let clock: any Clock<Duration>
    /// The database that was opened.
    private let identity: FileIdentity?
    private let holders = LockHolders()

    /// Opens the store. Makes it if it does not exist. It blocks on the disk for a moment.
    ///
    /// - Parameters:
    ///   - path: the folder. A new folder gets mode 0700. It is refused if others own it or may enter it.
    ///   - clock: measures the wait for another process's lock.
    ///   - allowsFUSE: whether the folder may be on a FUSE file system. Some of these do not keep locks or share memory
    ///     between programs, as SQLite needs.
    /// - Throws: ``StoreError`` with code `unsafePermissions` or `unsafeFileSystem` (do what the text says),
    ///   `unreadable` or `busy` (try again), `corrupt` (restore a backup), or `newerVersion` (update this program).
    public convenience init(
        folder path: String, clock: any Clock<Duration> = ContinuousClock(), allowsFUSE: Bool = false
    ) throws {
        try self.init(folder: path, clock: clock, allowsFUSE: allowsFUSE, kind: FileSystemKind.init(of:))
    }

    /// - Parameter kind: returns the kind of file system of a path.
    package init(
        folder path: String, clock: any Clock<Duration> = ContinuousClock(), allowsFUSE: Bool,
        kind: (String) -> FileSystemKind
    ) throws {
        self.clock = clock
        try kind(path).requireSafe(for: path, allowsFUSE: allowsFUSE)
        folder = try StoreFolder(preparing: path)
        database = try folder.translatingBlockingErrors { [folder] in
            if !folder.hasDatabase { try Self.create(in: folder) }
            try folder.requirePrivateFiles()
            return try Self.open(folder)
        }
        identity = FileIdentity(of: folder.database)
    }

    /// SQLite would go on with a file that was moved away. A token stored there would be lost to everybody else.
    ///
    /// - Throws: ``StoreError`` with code `unreadable`.
    private func requireInPlace() throws {
        guard FileIdentity(of: folder.database) == identity else {
            throw StoreError(
                .unreadable,
                "\(folder.database) was moved or replaced while this program used it. Start this program again.",
                detail: .storeMoved)
        }
    }

    /// Opens a store that is there already to read from it, and changes nothing: it makes no folder, and brings no tables
    /// to this version.
    ///
    /// - Parameters:
    ///   - allowsFUSE: whether the folder may be on a FUSE file system.
    /// - Throws: ``StoreError`` with code `unsafePermissions`, `unsafeFileSystem` or `unreadable`, also when there is no store.
    package init(reading path: String, allowsFUSE: Bool) throws {
        clock = ContinuousClock()
        try FileSystemKind(of: path).requireSafe(for: path, allowsFUSE: allowsFUSE)
        folder = try StoreFolder(existing: path)
        database = try folder.translatingBlockingErrors { [folder] in
            try folder.requirePrivateFiles()
            return try Self.openForReading(folder)
        }
        identity = FileIdentity(of: folder.database)
    }

    // MARK: - Reading

    /// Reads all accounts, oldest first.
    ///
    /// - Throws: ``StoreError``: `busy`, `unreadable`: try again. `corrupt`: restore the store from a backup.
    ///   `CancellationError` when the task is cancelled.
    public func accounts() async throws -> [Account] {
        try await read { db in
            let slots = try Dictionary(
                grouping: Row.fetchAll(db, sql: "SELECT * FROM keyslot WHERE staged = 0 ORDER BY created_at"),
                by: { try $0.decode(Int64.self, forColumn: "account_id") })
            return try Row.fetchAll(db, sql: "SELECT \(Account.columns) FROM account ORDER BY created_at, id").map {
                try Account(row: $0, slots: slots[$0.decode(forColumn: "id")] ?? [])
            }
        }
    }

    /// Finds the accounts whose subject, alias, e-mail address or preferred user name is `name`, oldest first.
    ///
    /// - Throws: ``StoreError``: `busy`, `unreadable`: try again. `corrupt`: restore the store from a backup.
    ///   `CancellationError` when the task is cancelled.
    public func accounts(named name: String) async throws -> [Account] {
        try await read { db in
            let rows = try Row.fetchAll(
                db,
                sql: """
                    SELECT \(Account.columns) FROM account WHERE id IN (\(Account.idsNamed))
                    ORDER BY created_at, id
                    """, arguments: ["name": name])
            return try rows.map { try Self.account(db, row: $0) }
        }
    }

    /// Reads one account; nil when there is none.
    ///
    /// - Throws: ``StoreError``: `busy`, `unreadable`: try again. `corrupt`: restore the store from a backup.
    ///   `CancellationError` when the task is cancelled.
    public func account(_ id: AccountID) async throws -> Account? {
        try await read { db in
            try Row.fetchOne(
                db, sql: "SELECT \(Account.columns) FROM account WHERE subject = ? AND issuer = ?",
                arguments: [id.subject, id.issuer]
            ).map { try Self.account(db, row: $0) }
        }
    }

    /// Reads the sealed bytes of an item; nil if there is none. For an item in chunks it reads the head.
    ///
    /// - Throws: ``StoreError``: `busy`, `unreadable`: try again. `corrupt`: restore the store from a backup.
    ///   `CancellationError` when the task is cancelled.
    public func item(_ name: ItemName, of id: AccountID) async throws -> [UInt8]? {
        try await read { db in
            try Data.fetchOne(
                db,
                sql: """
                    SELECT sealed FROM item JOIN account ON account.id = item.account_id
                    WHERE account.subject = ? AND account.issuer = ? AND item.name = ?
                    """, arguments: [id.subject, id.issuer, name.rawValue]
            ).map { Array($0) }
        }
    }

    /// Reads one sealed chunk of an item.
    ///
    /// - Parameters:
    ///   - number: the number of the chunk, counted from 0.
    ///   - name: the name of the item.
    ///   - head: the bytes that ``item(_:of:)`` returned.
    ///   - id: the account.
    /// - Returns: nil when there is no such chunk, or when the item has another head now.
    /// - Throws: ``StoreError``: `busy`, `unreadable`: try again. `corrupt`: restore the store from a backup.
    ///   `CancellationError` when the task is cancelled.
    public func chunk(
        _ number: Int, ofItem name: ItemName, head: [UInt8], of id: AccountID
    ) async throws -> [UInt8]? {
        try await read { db in
            try Data.fetchOne(
                db,
                sql: """
                    SELECT chunk.sealed FROM account
                    JOIN item ON item.account_id = account.id AND item.name = ? AND item.sealed = ?
                    JOIN chunk ON chunk.account_id = account.id AND chunk.name = item.name AND chunk.number = ?
                    WHERE account.subject = ? AND account.issuer = ?
                    """, arguments: [name.rawValue, Data(head), number, id.subject, id.issuer]
            ).map { Array($0) }
        }
    }

    /// The store's own folder: free space there is also free for the items.
    public var folderForChunks: String { folder.path }

    /// Reads the names of an account's items, sorted.
    ///
    /// - Throws: ``StoreError``: `busy`, `unreadable`: try again. `corrupt`: restore the store from a backup.
    ///   `CancellationError` when the task is cancelled.
    public func itemNames(of id: AccountID) async throws -> [ItemName] {
        try await read { db in
            try String.fetchAll(
                db,
                sql: """
                    SELECT item.name FROM item JOIN account ON account.id = item.account_id
                    WHERE account.subject = ? AND account.issuer = ? ORDER BY item.name
                    """, arguments: [id.subject, id.issuer]
            ).map { ItemName(rawValue: $0) }
        }
    }

    /// Reads the keyslot that a change of password staged; nil when there is none.
    ///
    /// - Throws: ``StoreError``: `busy`, `unreadable`: try again. `corrupt`: restore the store from a backup.
    ///   `CancellationError` when the task is cancelled.
    public func stagedKeyslot(of id: AccountID) async throws -> Keyslot? {
        try await read { db in
            try Row.fetchOne(
                db,
                sql: """
                    SELECT keyslot.* FROM keyslot JOIN account ON account.id = keyslot.account_id
                    WHERE account.subject = ? AND account.issuer = ? AND keyslot.staged = 1
                    """, arguments: [id.subject, id.issuer]
            ).map { try Keyslot(row: $0, of: id) }
        }
    }

    /// Tells whether a keyslot of any account uses this key at its key service.
    ///
    /// - Throws: ``StoreError``: `busy`, `unreadable`: try again. `corrupt`: restore the store from a backup.
    ///   `CancellationError` when the task is cancelled.
    public func usesKey(_ keyID: String) async throws -> Bool {
        // Few keys are ever looked up, so an index is not worth its writes.
        try await read { db in
            try Bool.fetchOne(
                db, sql: "SELECT EXISTS (SELECT 1 FROM keyslot WHERE key_id = ?)", arguments: [keyID]) ?? false
        }
    }

    private static func account(_ db: Database, row: Row) throws -> Account {
        let slots = try Row.fetchAll(
            db, sql: "SELECT * FROM keyslot WHERE account_id = ? AND staged = 0 ORDER BY created_at",
            arguments: [row.decode(Int64.self, forColumn: "id")])
        return try Account(row: row, slots: slots)
    }

    private func read<R: Sendable>(_ body: @escaping @Sendable (Database) throws -> R) async throws -> R {
        try requireInPlace()
        return try await folder.translatingErrors { try await database.read(body) }
    }

    // MARK: - Writing

    /// Makes all `changes` in one transaction, or none of them. It returns when they are on the disk, unless all of
    /// them may be lost (``StoreChange/noteUse(ofKeyslot:_:)``).
    ///
    /// - Throws: ``StoreError``, and nothing was changed: `busy`: try again. `unreadable`: the disk is full or
    ///   read-only, see the text. Correct it, then try again. `noSuchAccount`: the account is gone, or another
    ///   program replaced the staged keyslot. `aliasTaken`, `reservedName`: choose another name. `corrupt`: restore the
    ///   store from a backup. `CancellationError` when the task is cancelled.
    public func apply(_ changes: [StoreChange], to id: AccountID) async throws {
        for change in changes { try change.requireWritable() }
        for case .beginRefresh in changes { try folder.reserveSpaceForCommit() }
        // The next change also makes a note of use durable. A wait for the disk would only delay the person.
        try await write(isDurable: !changes.allSatisfy(\.mayBeLost)) { db in
            try StoreChange.apply(changes, db, to: id)
        }
        guard changes.contains(where: \.removes) else { return }
        // Until the checkpoint, the write-ahead log has the old pages, with keyslots that an old password opens. A
        // program that reads for longer than the busy timeout prevents the checkpoint. Then the next removal does it.
        try? await database.writeWithoutTransaction { _ = try $0.checkpoint(.truncate) }
    }

    /// Reads and changes a record in one transaction. It returns when the change is on the disk.
    ///
    /// - Parameters:
    ///   - name: the name of the record.
    ///   - change: gets the bytes of the record, or nil, and sets the new bytes. It must be quick, because others wait.
    /// - Returns: the result of `change`.
    /// - Throws: ``StoreError``: `busy`, `unreadable`: try again. `corrupt`: restore the store from a backup. Errors of
    ///   `change`. `CancellationError` when the task is cancelled. The record is as it was then.
    public func withRecord<R: Sendable>(
        _ name: String, _ change: @escaping @Sendable (inout [UInt8]?) throws -> R
    ) async throws -> R {
        try await write(isDurable: true) { db in
            try db.changeRecord(name, change)
        }
    }

    /// Runs `body` in a transaction.
    private func write<R: Sendable>(
        isDurable: Bool, _ body: @escaping @Sendable (Database) throws -> R
    ) async throws -> R {
        try requireInPlace()
        return try await folder.translatingErrors {
            try await database.writeWithoutTransaction { db in
                // Set each time: the setting stays as the last transaction left it, and a cancelled one cannot reset
                // it.
                try db.execute(sql: "PRAGMA synchronous = \(isDurable ? "FULL" : "NORMAL")")
                var result: R?
                try db.inTransaction(.immediate) {
                    result = try body(db)
                    return .commit
                }
                guard let result else { throw StoreError(.unreadable, "The store did not make the change. Try again.") }
                return result
            }
        }
    }

    /// Runs `body` with the account's lock: a file in the folder of the store, locked with `flock`.
    ///
    /// - Returns: the result of `body`.
    /// - Throws: ``StoreError``: `busy` when one holder keeps the lock for 60 seconds, or when the wait takes ten
    ///   minutes in all: try again. `alreadyLocked` when the task has this lock already: a mistake in the program.
    ///   `unreadable` when the lock file cannot be opened. Errors of `body`. `CancellationError` when the task
    ///   is cancelled while it waits.
    public func withLock<R: Sendable>(
        on id: AccountID, _ body: @Sendable (AccountLock) async throws -> R
    ) async throws -> R {
        try holders.requireFree(id)
        try requireInPlace()
        let file = try await LockFile.acquire(path: folder.lockFile(of: id), timeout: .seconds(60), clock: clock)
        let lock = AccountLock { file.release() }
        defer { withExtendedLifetime(lock) {} }
        let result = try await holders.hold(id) { try await body(lock) }
        // The work of `body` is done. If the account cannot be looked up now, this is not an error.
        let isGone = (try? await account(id) == nil) ?? false
        if isGone { file.setObsolete() }
        return result
    }

    /// Begins a write and cancels it, so nothing is left behind.
    ///
    /// - Throws: ``StoreError``: `busy`: try again. `unreadable`: the disk is full or read-only, the text says which.
    ///   `corrupt`: restore the store from a backup.
    ///   `CancellationError` when the task is cancelled.
    public func checkWritable() async throws {
        try await folder.translatingErrors {
            try await database.writeWithoutTransaction { db in
                // Takes the write lock and a page of the log, then gives both back.
                try db.inTransaction(.immediate) {
                    try db.execute(sql: "PRAGMA user_version = \(Int.fetchOne(db, sql: "PRAGMA user_version") ?? 0)")
                    return .rollback
                }
            }
            // As each renewal does.
            try folder.reserveSpaceForCommit()
        }
    }
}
