internal import CSQLite
internal import VaultBase
internal import VaultStorage

/// Tells whether any program has changed the store since the last look.
///
/// It has its own connection, because SQLite counts only the commits of other connections. The connection only reads,
/// and never waits for a program that writes. The agent asks for each token, so it calls SQLite directly: GRDB's queue
/// would take as long as SQLite itself.
package final class StoreVersion: Sendable {
    private struct Query {
        let connection: OpaquePointer
        let statement: OpaquePointer
    }

    private let query: Lock<Query>
    private let path: String
    private let identity: FileIdentity?

    /// - Parameter folder: the folder of a store that is already open.
    /// - Throws: ``StoreError`` with code `unreadable` if the database cannot be opened: try again.
    package init(folder path: String) throws {
        let folder = try StoreFolder(preparing: path)
        var (connection, statement): (OpaquePointer?, OpaquePointer?) = (nil, nil)
        self.path = folder.database
        identity = FileIdentity(of: folder.database)
        let flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX
        guard sqlite3_open_v2(folder.database, &connection, flags, nil) == SQLITE_OK, let opened = connection,
            sqlite3_prepare_v2(opened, "PRAGMA data_version", -1, &statement, nil) == SQLITE_OK, let statement
        else {
            sqlite3_close(connection)
            throw StoreError(.unreadable, "\(folder.database) cannot be read.")
        }
        query = Lock(Query(connection: opened, statement: statement))
    }

    /// Whether the store's path still leads to this store, and not to another one.
    package var isInPlace: Bool { FileIdentity(of: path) == identity }

    deinit {
        query.withLock { query in
            _ = sqlite3_finalize(query.statement)
            _ = sqlite3_close(query.connection)
        }
    }

    /// A number that changes with each commit to the store; nil if the store cannot be read now.
    package var current: Int64? {
        guard isInPlace else { return nil }
        return query.withLock { query in
            defer { sqlite3_reset(query.statement) }
            return sqlite3_step(query.statement) == SQLITE_ROW ? sqlite3_column_int64(query.statement, 0) : nil
        }
    }
}
