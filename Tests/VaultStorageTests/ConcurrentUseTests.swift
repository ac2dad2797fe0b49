import Foundation
import GRDB
import Testing
import VaultStorage
import VaultStorageTestSupport
import VaultUnlock

@testable import VaultSQLite

@Suite struct ConcurrentUseTests {
    /// A refresh token that the provider rotated must outlive a power cut: FULL is 2, NORMAL would be 1.
    @Test func `when a store opens, then its settings keep commits durable`() async throws {
        try await withTemporaryFolder { folder in
            for _ in 0..<2 {
                let store = try SQLiteStore(folder: folder)
                let settings = try await store.database.read { db in
                    try ["journal_mode", "synchronous", "secure_delete", "foreign_keys"].map {
                        try String.fetchOne(db, sql: "PRAGMA \($0)")
                    }
                }
                #expect(settings == ["wal", "2", "1", "1"])
            }
        }
    }

    @Test func `when a store is only read, then nothing is written`() async throws {
        try await withTemporaryFolder { folder in
            let account = Account.example("alice")
            try await SQLiteStore(folder: folder).apply([.putAccount(account)], to: account.id)
            let file = URL(filePath: folder + "/vault.sqlite")
            let before = try Data(contentsOf: file)
            let store = try SQLiteStore(folder: folder)
            #expect(try await store.accounts() == [account])
            #expect(try Data(contentsOf: file) == before)
            // The log exists from the start, because a refresh first reserves space in it.
            #expect(FileManager.default.fileExists(atPath: file.path() + "-wal"))
        }
    }

    @Test func `when one store writes, then the other sees the change`() async throws {
        try await withTemporaryFolder { folder in
            let (first, second) = try (SQLiteStore(folder: folder), SQLiteStore(folder: folder))
            let account = Account.example("alice")
            try await first.apply([.putAccount(account)], to: account.id)
            #expect(try await second.account(account.id) == account)
            try await second.apply([.putItem(.refreshToken, [1])], to: account.id)
            #expect(try await first.item(.refreshToken, of: account.id) == [1])
            try await second.apply([.removeAccount], to: account.id)
            #expect(try await first.accounts() == [])
        }
    }

    @Test func `when tasks make one store together, then all share it`() async throws {
        try await withTemporaryFolder { parent in
            let folder = parent + "/store"
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<16 {
                    group.addTask {
                        let store = try await Self.open(folder)
                        let account = Account.example("\(number)")
                        try await store.apply([.putAccount(account)], to: account.id)
                    }
                }
                try await group.waitForAll()
            }
            #expect(try await SQLiteStore(folder: folder).accounts().count == 16)
            let files = try FileManager.default.contentsOfDirectory(atPath: folder)
            #expect(!files.contains { $0.hasPrefix(".new") })
        }
    }

    @Test func `when processes make one store together, then all share it`() async throws {
        try await withTemporaryFolder { parent in
            let folder = parent + "/store"
            async let first: Void = makeInAnotherProcess(folder, "1")
            async let second: Void = makeInAnotherProcess(folder, "2")
            async let third: Void = makeInAnotherProcess(folder, "3")
            _ = await (first, second, third)
            let accounts = try await SQLiteStore(folder: folder).accounts()
            #expect(accounts.map(\.id.subject).sorted() == ["1", "2", "3"])
        }
    }

    private func makeInAnotherProcess(_ folder: String, _ name: String) async {
        await #expect(processExitsWith: .success) { [folder = folder as String, name = name as String] in
            let store = try SQLiteStore(folder: folder)
            let account = Account.example(name)
            try await store.apply([.putAccount(account)], to: account.id)
        }
    }

    @Test func `when a killed process leaves files, then the next succeeds`() async throws {
        try await withTemporaryFolder { folder in
            await #expect(processExitsWith: .signal(SIGKILL)) { [folder = folder as String] in
                // All steps of creation before the new database is put in its place.
                let database = try DatabaseQueue(path: folder + "/.new-1234.sqlite")
                try Schema.migrator.migrate(database)
                kill(getpid(), SIGKILL)
            }
            let store = try SQLiteStore(folder: folder)
            let account = Account.example("alice")
            try await store.apply([.putAccount(account)], to: account.id)
            #expect(try await store.accounts() == [account])
        }
    }

    /// Opening blocks, so it must not run on the cooperative pool.
    private static func open(_ folder: String) async throws -> SQLiteStore {
        try await withCheckedThrowingContinuation { continuation in
            DispatchQueue.global().async { @Sendable in
                continuation.resume(with: Result { try SQLiteStore(folder: folder) })
            }
        }
    }
}
