import Foundation
import GRDB
import Testing
import VaultStorage

/// Stores that an earlier version of the program made.
@Suite struct MigrationTests {
    /// Takes a store back to what the first version made.
    private func makeFirstVersion(of folder: String) throws {
        let database = try DatabaseQueue(path: folder + "/vault.sqlite")
        try database.write { db in
            try db.execute(
                sql: """
                    ALTER TABLE account DROP COLUMN method;
                    DROP TABLE record;
                    DELETE FROM grdb_migrations WHERE identifier = '2';
                    """)
        }
        try database.close()
    }

    @Test func `a store of the first version opens, with all there is in it`() async throws {
        try await withTemporaryFolder { folder in
            var account = Account.example("alice", alias: "home")
            let slot = Keyslot.example("1")
            account.keyslots = [slot]
            do {
                let store = try SQLiteStore(folder: folder)
                try await store.apply(
                    [.putAccount(account), .putKeyslot(slot), .putItem(.refreshToken, [1])], to: account.id)
            }
            try makeFirstVersion(of: folder)
            // Several programs may be the first to open it.
            let stores = try await withThrowingTaskGroup(of: SQLiteStore.self) { group in
                for _ in 0..<4 { group.addTask { try SQLiteStore(folder: folder) } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            for store in stores {
                #expect(try await store.account(account.id) == account)
                #expect(try await store.account(account.id)?.method == .openIDConnect)
                #expect(try await store.item(.refreshToken, of: account.id) == [1])
                #expect(try await store.withRecord("x") { $0 } == nil)
            }
        }
    }
}
