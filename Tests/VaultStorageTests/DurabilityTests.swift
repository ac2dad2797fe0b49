import Foundation
import GRDB
import Testing
import VaultStorage
import VaultStorageTestSupport

@testable import VaultSQLite

/// The value of SQLite's `synchronous` at each commit: 2 (FULL) waits for the disk, 1 (NORMAL) does not.
@Suite struct DurabilityTests {
    private let account = Account.example("alice")

    private func setting(_ store: SQLiteStore) async throws -> Int? {
        try await store.database.read { try Int.fetchOne($0, sql: "PRAGMA synchronous") }
    }

    /// Leaves the connection in the state of a note of use that was cancelled before it could reset `synchronous`.
    private func makeCareless(_ store: SQLiteStore) async throws {
        try await store.database.writeWithoutTransaction { try $0.execute(sql: "PRAGMA synchronous = NORMAL") }
    }

    @Test func `when a change is committed, then the commit is durable`() async throws {
        try await withTemporaryFolder { folder in
            let store = try SQLiteStore(folder: folder)
            let changes: [[StoreChange]] = [
                [.putAccount(account)], [.beginRefresh(Date())], [.putItem(.refreshToken, [1]), .endRefresh],
                [.putKeyslot(.example("1"))], [.noteUse(ofKeyslot: "1", Date()), .noteOnline(Date())],
                [.removeItem(.refreshToken)],
            ]
            for change in changes {
                try await makeCareless(store)
                try await store.apply(change, to: account.id)
                #expect(try await setting(store) == 2)
            }
            try await makeCareless(store)
            try await store.withRecord("record") { $0 = [1] }
            #expect(try await setting(store) == 2)
        }
    }

    @Test func `when a use is noted, then its commit never waits`() async throws {
        try await withTemporaryFolder { folder in
            let store = try SQLiteStore(folder: folder)
            try await store.apply([.putAccount(account), .putKeyslot(.example("1"))], to: account.id)
            try await store.apply([.noteUse(ofKeyslot: "1", Date())], to: account.id)
            #expect(try await setting(store) == 1)
        }
    }

    @Test func `when a note is cancelled, then later changes are durable`() async throws {
        try await withTemporaryFolder { folder in
            let store = try SQLiteStore(folder: folder)
            let account = account
            try await store.apply([.putAccount(account), .putKeyslot(.example("1"))], to: account.id)
            for round in 0..<300 {
                let note = Task { try? await store.apply([.noteUse(ofKeyslot: "1", Date())], to: account.id) }
                for _ in 0..<round % 20 { await Task.yield() }
                note.cancel()
                try await store.apply([.putItem(.refreshToken, [UInt8(round % 256)])], to: account.id)
                await note.value
                try await store.apply([.putItem(.refreshToken, [UInt8(round % 256)])], to: account.id)
                #expect(try await setting(store) == 2)
            }
        }
    }
}
