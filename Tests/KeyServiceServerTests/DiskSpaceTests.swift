import CDispatch
import Foundation
import GRDB
import KeyServiceCore
import Testing

@testable import KeyServiceSQLite

/// The space that guesses need while another program fills the disk.
@Suite struct DiskSpaceTests {
    let temporary: TemporaryFolder
    let folder: KeyServiceFolder

    init() throws {
        temporary = try TemporaryFolder()
        folder = KeyServiceFolder(path: temporary.data)
    }

    /// Opens a new store as a server does.
    private func serve() async throws -> SQLiteKeyRecordStore {
        try await folder.create()
        return try folder.openLocked()
    }

    /// The size of a file, and its space on the disk, in bytes.
    private func file(_ path: String) throws -> (size: Int, space: Int) {
        var status = stat()
        let result = lstat(path, &status)
        try #require(result == 0)
        return (Int(status.st_size), 512 * Int(status.st_blocks))
    }

    private func log() throws -> (size: Int, space: Int) { try file(folder.databasePath + "-wal") }

    @Test func `when a server runs, then its log keeps space`() async throws {
        let store = try await serve()
        defer { store.close() }
        #expect(try log().space >= 1 << 20)
        try await store.write(generation: 1)
        store.checkpoint()
        let size = try log().size
        #expect(size > 0)
        // Each transaction begins at the start of the log.
        for generation in 2...100 {
            try await store.write(generation: Int64(generation))
            store.checkpoint()
        }
        #expect(try log().size == size)
        // As an operator's command does, which erases the old copies of a key.
        _ = store.truncateLog()
        #expect(try log().size == 0)
        #expect(try log().space >= 1 << 20)
    }

    @Test func `when the disk hung, then the log's mover rests ten seconds at most`() {
        #expect(LogMover.rest(after: .milliseconds(2)) == .milliseconds(8))
        #expect(LogMover.rest(after: .seconds(3600)) == .seconds(10))
    }

    @Test func `when a server writes much, then its log moves meanwhile`() async throws {
        let store = try await serve()
        defer { store.close() }
        let before = try file(folder.databasePath).size
        func write() throws {
            // About 600 pages. SQLite itself moves the log after 1,000.
            try store.blocking { db in
                try db.execute(sql: "INSERT INTO spare VALUES (zeroblob(?))", arguments: [5 << 19])
                try db.execute(sql: "DELETE FROM spare")
            }
        }
        try write()
        // The mover rests between two portions. These are fewer pages than the store moves itself.
        for generation in 1...500 where try file(folder.databasePath).size <= before + 1 << 20 {
            try await store.write(generation: Int64(generation))
            store.logMover?.finish()
        }
        #expect(try file(folder.databasePath).size > before + 1 << 20)
        // 40 MB without a pause.
        for _ in 1...20 { try write() }
        #expect(try log().size < 20 << 20)
    }

    @Test(.timeLimit(.minutes(1)))
    func `when a reader keeps the log long, then nothing hangs`() async throws {
        let store = try await serve()
        defer { store.close() }
        let reader = try DatabaseQueue(path: folder.databasePath)
        try Self.useLongLog(of: store, reader)
        #expect(try await store.state().generation >= 100)
    }

    /// Commits and moves the log on two threads, while a reader keeps the log from beginning again.
    private static func useLongLog(of store: SQLiteKeyRecordStore, _ reader: DatabaseQueue) throws {
        try reader.read { db in
            _ = try Int.fetchOne(db, sql: "SELECT count(*) FROM key_record")
            // More pages than the limit, so that each commit moves the log itself.
            for _ in 1...8 {
                try store.blocking { db in
                    try db.execute(sql: "INSERT INTO spare VALUES (zeroblob(?))", arguments: [5 << 19])
                    try db.execute(sql: "DELETE FROM spare")
                }
            }
            DispatchQueue.concurrentPerform(iterations: 2) { thread in
                for _ in 1...100 {
                    if thread == 0 { store.checkpoint() } else { try? addGeneration(store) }
                }
            }
        }
    }

    private static func addGeneration(_ store: SQLiteKeyRecordStore) throws {
        try store.blocking { try $0.execute(sql: "UPDATE service SET generation = generation + 1") }
    }

    @Test func `when keys are made, then free pages remain`() async throws {
        let store = try await serve()
        defer { store.close() }
        let masterKeyID = try #require(try await store.state().masterKeys.first).id
        for _ in 1...5 {
            let updates = (1...300).map { _ in
                let record = KeyRecord(
                    id: UUID().uuidString, createdAt: 0, details: .strong(salt: [UInt8](repeating: 1, count: 16)),
                    masterKeyID: masterKeyID, content: [UInt8](repeating: 2, count: 300))
                return KeyUpdate(record.id, .add) { key, _ in key = StoredKey(record: record) }
            }
            for result in await store.commit(updates, lane: 0, deadline: .now + .seconds(20)) { try result.get() }
            _ = try await store.checkIn(
                ServerCheckIn(server: 1, time: 1, masterKeys: []), deadline: .now + .seconds(20))
        }
        let (count, unused) = try await store.queue.read { db in
            (
                try Int.fetchOne(db, sql: "PRAGMA page_count") ?? 0,
                try Int.fetchOne(db, sql: "PRAGMA freelist_count") ?? 0
            )
        }
        #expect(unused >= 100)
        // The file has them already. A checkpoint need not make it longer.
        #expect(try file(folder.databasePath).size >= 4096 * count)
    }

    @Test func `when the size is kept, then only growth fails`() async throws {
        let store = try await serve()
        defer { store.close() }
        let growth = "INSERT INTO spare VALUES (zeroblob(8388608))"
        store.keepSize(true)
        let error = await #expect(throws: DatabaseError.self) {
            try await store.queue.write { try $0.execute(sql: growth) }
        }
        #expect(error?.resultCode == .SQLITE_FULL)
        try await store.write(generation: 7)
        store.keepSize(false)
        try await store.queue.write { try $0.execute(sql: growth) }
        #expect(try await store.state().generation == 7)
    }
}
