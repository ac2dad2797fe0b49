import Foundation
import GRDB
import Testing
import VaultBase
import VaultStorage
import VaultStorageTestSupport
import VaultUnlock

@testable import VaultSQLite

@Suite struct QueryPlanTests {
    /// The cost of a login's reads and writes must not grow with the number of accounts. The statements are the ones
    /// that the store really runs.
    @Test func `when 10,000 accounts exist, then every lookup uses an index`() async throws {
        try await withTemporaryFolder { folder in
            let store = try SQLiteStore(folder: folder)
            let account = Account.example(
                "alice", alias: "home", email: "alice@example.com", preferredUsername: "al")
            let id = account.id
            try await store.apply(
                [.putAccount(account), .putKeyslot(.example("old")), .putItem(.refreshToken, [1])], to: id)
            try await store.database.write { db in
                try db.execute(
                    sql: """
                        WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < 10000)
                        INSERT INTO account (id, issuer, subject, alias, email, preferred_username, method,
                            client_id, key_service_url, device_secret, created_at, checksum)
                            SELECT i, issuer, 's' || i, 'a' || i, i || '@example.com', 'p' || i, method,
                            client_id, key_service_url, device_secret, created_at, checksum FROM n, account;
                        INSERT INTO keyslot (id, account_id, kind, salt, argon2_passes, argon2_memory_kib,
                            argon2_lanes, key_id, wrapped, created_at, staged, checksum)
                            SELECT 'slot' || account.id, account.id, kind, salt, argon2_passes,
                            argon2_memory_kib, argon2_lanes, key_id, wrapped, keyslot.created_at, 0, keyslot.checksum
                            FROM account, keyslot WHERE account.id > 1;
                        INSERT INTO item SELECT account.id, name, sealed FROM account, item WHERE account.id > 1
                        """)
            }
            let statements = Lock<Set<String>>([])
            try await store.database.write { db in
                db.trace { event in
                    if case .statement(let statement) = event { statements.withLock { _ = $0.insert(statement.sql) } }
                }
            }
            for name in ["alice", "home", "alice@example.com", "al"] {
                #expect(try await store.accounts(named: name).map(\.id) == [id])
            }
            #expect(try await store.account(id)?.keyslots.count == 1)
            #expect(try await store.item(.refreshToken, of: id) == [1])
            #expect(try await store.itemNames(of: id) == [.refreshToken])
            try await store.apply([.stageKeyslot(.example("new"))], to: id)
            #expect(try await store.stagedKeyslot(of: id) != nil)
            try await store.apply(
                [
                    .removeKeyslot(id: "old"), .activateKeyslot(id: "new"), .putItem(.accessToken, [2]),
                    .removeItem(.accessToken), .beginRefresh(Date()), .endRefresh, .putAccount(account),
                    .changeUnsealedMetadata { $0["ward"] = "4" },
                    .renameKeyslot(id: "new", label: "x"), .noteUse(ofKeyslot: "new", Date()), .noteOnline(Date()),
                    .noteTokens(scope: "a", type: "DPoP", accessTokenExpiresAt: Date()),
                    .putDisplayClaims(["name": "A"]), .noteRefusal(Date()), .putItem(.refreshToken, [3]),
                    .removeAccount,
                ], to: id)

            try await store.apply([.putAccount(account)], to: id)
            let chunks = try SealedChunks(folder: folder)
            try chunks.append([1])
            try await store.apply([.putChunks(.accessToken, head: [2], chunks)], to: id)
            #expect(try await store.chunk(0, ofItem: .accessToken, head: [2], of: id) == [1])

            let run = statements.withLock { $0 }.filter {
                $0.firstMatch(of: /\b(account|keyslot|item|chunk|record)\b/) != nil
            }
            #expect(run.count > 15)
            for sql in run {
                let plan = try await store.database.read { db in
                    try Row.fetchAll(db, sql: "EXPLAIN QUERY PLAN \(sql)", arguments: Self.anything(for: sql))
                        .map { $0["detail"] as String? ?? "" }
                }
                #expect(!plan.contains { $0.contains("SCAN") }, "\(sql)\n\(plan)")
            }
        }
    }

    private static func anything(for sql: String) -> StatementArguments {
        if sql.contains(":name") { return ["name": ""] }
        return StatementArguments(Array(repeating: 1, count: sql.count { $0 == "?" }))
    }
}
