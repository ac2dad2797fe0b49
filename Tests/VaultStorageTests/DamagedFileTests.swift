import Foundation
import GRDB
import TestSupport
import Testing
import VaultSQLite
import VaultStorage
import VaultStorageTestSupport

/// A damaged file: the store says so clearly, and leaves the file unchanged for repair.
@Suite struct DamagedFileTests {
    /// Fills a store, damages the file, and returns the errors of opening and listing. The file must stay as damaged.
    private func failure(after damage: (_ path: String, _ bytes: Data) throws -> Void) async throws -> StoreError? {
        try await withTemporaryFolder { folder in
            try await fill(folder)
            let path = folder + "/vault.sqlite"
            try damage(path, try Data(contentsOf: URL(filePath: path)))
            let damaged = try Data(contentsOf: URL(filePath: path))
            let failure = await thrown(StoreError.self) { _ = try await SQLiteStore(folder: folder).accounts() }
            #expect(try Data(contentsOf: URL(filePath: path)) == damaged)
            return failure
        }
    }

    /// Makes a store of some pages, and closes it.
    private func fill(_ folder: String) async throws {
        let store = try SQLiteStore(folder: folder)
        for number in 0..<20 {
            let account = Account.example("\(number)", alias: "alias \(number)", email: "\(number)@example.com")
            try await store.apply(
                [
                    .putAccount(account), .putKeyslot(.example("slot \(number)")),
                    .putItem(.refreshToken, [UInt8](repeating: 1, count: 500)),
                ], to: account.id)
        }
    }

    @Test func `when the file is empty, then the store reports damage`() async throws {
        let error = try await failure { path, _ in try Data().write(to: URL(filePath: path)) }
        #expect(error?.code == .corrupt)
        #expect(error?.description.contains("empty") == true)
    }

    @Test(arguments: [0.1, 0.5, 0.9])
    func `when the file is truncated, then the store reports damage`(part: Double) async throws {
        let error = try await failure { path, bytes in
            try bytes.prefix(Int(Double(bytes.count) * part)).write(to: URL(filePath: path))
        }
        #expect(error?.code == .corrupt)
    }

    @Test func `when the header is garbled, then the store reports damage`() async throws {
        let error = try await failure { path, bytes in
            try (Data(repeating: 0xA5, count: 100) + bytes.dropFirst(100)).write(to: URL(filePath: path))
        }
        #expect(error?.code == .corrupt)
    }

    @Test func `when the file is something else, then it is refused`() async throws {
        let text = try await failure { path, _ in
            try Data(String(repeating: "dear diary\n", count: 1000).utf8).write(to: URL(filePath: path))
        }
        #expect(text?.code == .corrupt)
        let other = try await failure { path, _ in
            try FileManager.default.removeItem(atPath: path)
            let database = try DatabaseQueue(path: path)
            try database.write { try $0.execute(sql: "CREATE TABLE recipe (name TEXT)") }
            try database.close()
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
        }
        #expect(other?.code == .corrupt)
        #expect(other?.description.contains("not a store") == true)
    }

    @Test func `when a table is missing, then the store reports damage`() async throws {
        let error = try await failure { path, _ in
            let database = try DatabaseQueue(path: path)
            try database.write { try $0.execute(sql: "DROP TABLE keyslot") }
            try database.close()
        }
        #expect(error?.code == .corrupt)
    }

    @Test func `when a newer version wrote the store, then opening fails`() async throws {
        let error = try await failure { path, _ in
            let database = try DatabaseQueue(path: path)
            try database.write { db in
                try db.execute(
                    sql:
                        "INSERT INTO grdb_migrations VALUES ('2030-future'); ALTER TABLE account ADD COLUMN future TEXT"
                )
            }
            try database.close()
        }
        #expect(error?.code == .newerVersion)
        #expect(error?.description.contains("newer version") == true)
    }

    /// Changes one byte at a time. Each time, the store must work or throw its own error, and the process must live.
    @Test func `when any byte changes, then nothing crashes`() async throws {
        try await withTemporaryFolder { folder in
            try await fill(folder)
            let path = folder + "/vault.sqlite"
            let intact = try Data(contentsOf: URL(filePath: path))
            var refused = 0
            // Every byte of the header, then steps of 211 bytes, which reach different parts of the pages.
            for offset in Array(0..<100) + Array(stride(from: 100, to: intact.count, by: 211)) {
                let handle = try #require(FileHandle(forUpdatingAtPath: path))
                try handle.truncate(atOffset: 0)
                try handle.write(contentsOf: intact)
                try handle.seek(toOffset: UInt64(offset))
                try handle.write(contentsOf: [intact[offset] ^ 0xFF])
                try handle.close()
                do {
                    let store = try SQLiteStore(folder: folder)
                    for account in try await store.accounts() {
                        _ = try await store.stagedKeyslot(of: account.id)
                        for name in try await store.itemNames(of: account.id) {
                            _ = try await store.item(name, of: account.id)
                        }
                    }
                } catch {
                    #expect(error is StoreError, "byte \(offset)")
                    refused += 1
                }
            }
            #expect(refused > 30)
        }
    }
}
