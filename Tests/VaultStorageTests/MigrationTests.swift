import Foundation
import Testing
import VaultSQLite
import VaultStorage

/// Stores that an earlier version of the program made.
@Suite struct MigrationTests {
    /// Statements that remove the parts that an earlier version did not have.
    private static let additions = [
        2: """
        ALTER TABLE account DROP COLUMN method;
        DROP TABLE record;
        DELETE FROM grdb_migrations WHERE identifier = '2';
        """,
        3: """
        ALTER TABLE account DROP COLUMN last_online_at;
        ALTER TABLE keyslot DROP COLUMN label;
        ALTER TABLE keyslot DROP COLUMN last_used_at;
        ALTER TABLE keyslot DROP COLUMN protection;
        DELETE FROM grdb_migrations WHERE identifier = '3';
        """,
        4: """
        ALTER TABLE account DROP COLUMN layout;
        ALTER TABLE account DROP COLUMN layout_checksum;
        DELETE FROM grdb_migrations WHERE identifier = 'layout';
        """,
        5: """
        ALTER TABLE account DROP COLUMN granted_scope;
        ALTER TABLE account DROP COLUMN access_token_expires_at;
        ALTER TABLE account DROP COLUMN display_claims;
        DELETE FROM grdb_migrations WHERE identifier = 'display';
        """,
        6: """
        DROP TABLE chunk;
        DELETE FROM grdb_migrations WHERE identifier = 'chunks';
        """,
        7: """
        ALTER TABLE keyslot DROP COLUMN check_key;
        ALTER TABLE keyslot DROP COLUMN end_signature;
        DELETE FROM grdb_migrations WHERE identifier = 'oblivious';
        """,
    ]

    @Test(arguments: [1, 2, 3, 4, 5, 6])
    func `a store of an earlier version opens, with all there is in it`(version: Int) async throws {
        try await withTemporaryFolder { folder in
            var account = Account.example("alice", alias: "home")
            let slot = Keyslot.example("1")
            account.keyslots = [slot]
            do {
                let store = try SQLiteStore(folder: folder)
                try await store.apply(
                    [
                        .putAccount(account), .putKeyslot(slot), .stageKeyslot(.example("staged")),
                        .putItem(.refreshToken, [1]),
                    ], to: account.id)
            }
            for (_, sql) in Self.additions.filter({ $0.key > version }) { try Raw.execute(folder, sql) }
            // Several programs may open the store first.
            let stores = try await withThrowingTaskGroup(of: SQLiteStore.self) { group in
                for _ in 0..<4 { group.addTask { try SQLiteStore(folder: folder) } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            for store in stores {
                #expect(try await store.account(account.id) == account)
                #expect(try await store.account(account.id)?.method == .openIDConnect)
                #expect(try await store.account(account.id)?.layout == nil)
                #expect(try await store.account(account.id)?.displayClaims == [:])
                #expect(try await store.item(.refreshToken, of: account.id) == [1])
                #expect(try await store.withRecord("x") { $0 } == nil)
                #expect(try await store.stagedKeyslot(of: account.id) == .example("staged"))
            }
        }
    }

    @Test func `unkeyed hashes of user names go, and other records stay`() async throws {
        try await withTemporaryFolder { folder in
            let names = ["attempts", "attempts https://a.example", "attempts https://a.example 0123", "client x"]
            do {
                let store = try SQLiteStore(folder: folder)
                for name in names { try await store.withRecord(name) { $0 = [1] } }
            }
            try Raw.execute(folder, "DELETE FROM grdb_migrations WHERE identifier = 'attempts'")
            let store = try SQLiteStore(folder: folder)
            for name in names {
                let isThere = try await store.withRecord(name) { $0 != nil }
                #expect(isThere == !name.hasPrefix("attempts "), "\(name)")
            }
        }
    }
}
