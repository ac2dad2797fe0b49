internal import GRDB

/// Tells whether any program has changed the store since somebody last looked at it.
///
/// It has a connection of its own, because SQLite counts only the commits of other connections. The connection only reads,
/// and never waits for a program that writes.
package final class StoreVersion: Sendable {
    private let database: DatabaseQueue

    /// - Parameter folder: the folder of a store that is open already.
    /// - Throws: ``StoreError`` with code `unreadable` when the database cannot be opened.
    package init(folder path: String) throws {
        let folder = try StoreFolder(preparing: path)
        var configuration = Configuration()
        configuration.readonly = true
        configuration.label = "credential-vault.version"
        database = try folder.translatingBlockingErrors {
            try DatabaseQueue(path: folder.database, configuration: configuration)
        }
    }

    /// A number that changes with each commit to the store; nil when the store cannot be read at this moment.
    package var current: Int64? {
        try? database.unsafeRead { db in
            try Int64.fetchOne(db.cachedStatement(sql: "PRAGMA data_version"))
        }
    }
}
