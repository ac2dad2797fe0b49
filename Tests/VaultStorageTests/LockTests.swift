import Foundation
import TestSupport
import Testing
import VaultSQLite
import VaultStorage
import VaultStorageTestSupport

/// The lock of an account across stores and processes.
@Suite struct LockTests {
    private let alice = AccountID(issuer: issuer, subject: "alice")

    private func lockFiles(_ folder: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasSuffix(".lock") }
    }

    @Test func `when two stores lock one account, then no change disappears`() async throws {
        try await withTemporaryFolder { folder in
            let stores = try [SQLiteStore(folder: folder), SQLiteStore(folder: folder)]
            try await stores[0].apply([.putAccount(.example("alice")), .putItem(.accessToken, [0])], to: alice)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<20 {
                    group.addTask { [alice] in
                        let store = stores[number % 2]
                        try await store.withLock(on: alice) { _ in
                            let count = try await store.item(.accessToken, of: alice)?.first ?? 0
                            await Task.yield()
                            try await store.apply([.putItem(.accessToken, [count + 1])], to: alice)
                        }
                    }
                }
                try await group.waitForAll()
            }
            #expect(try await stores[1].item(.accessToken, of: alice) == [20])
        }
    }

    @Test func `when another process locks an account, then locking reports busy`() async throws {
        try await withTemporaryFolder { folder in
            let store = try SQLiteStore(folder: folder, clock: HastyClock())
            try await store.apply([.putAccount(.example("alice"))], to: alice)
            try await store.withLock(on: alice) { _ in }
            let file = folder + "/" + (try #require(try lockFiles(folder).first))
            let holder = try LockHolder(file)
            defer { holder.kill() }
            #expect(await thrown(\StoreError.code) { try await store.withLock(on: alice) { _ in } } == .busy)
            // Reading needs no lock, and another account is not locked.
            #expect(try await store.account(alice) != nil)
            try await store.withLock(on: AccountID(issuer: issuer, subject: "bob")) { _ in }
            holder.kill()
            #expect(try await store.withLock(on: alice) { _ in true })
        }
    }

    @Test func `when a long queue moves, then a waiter gets its turn`() async throws {
        try await withTemporaryFolder { folder in
            let first = try SQLiteStore(folder: folder)
            try await first.apply([.putAccount(.example("alice"))], to: alice)
            try await first.withLock(on: alice) { _ in }
            let file = folder + "/" + (try #require(try lockFiles(folder).first))
            let holder = try LockHolder(file)
            defer { holder.kill() }
            // Each of the others in the queue has the lock for 50 s. The last one ends after 500 s.
            let clock = HastyClock { passed in
                if passed > .seconds(500) { return holder.kill() }
                var taken = [timespec](
                    repeating: timespec(tv_sec: Int(passed.components.seconds) / 50, tv_nsec: 0), count: 2)
                utimensat(AT_FDCWD, file, &taken, 0)
            }
            let second = try SQLiteStore(folder: folder, clock: clock)
            #expect(try await second.withLock(on: alice) { _ in true })
        }
    }

    @Test func `when a lock is taken, then those who wait can see it`() async throws {
        try await withTemporaryFolder { folder in
            let store = try SQLiteStore(folder: folder)
            try await store.apply([.putAccount(.example("alice"))], to: alice)
            try await store.withLock(on: alice) { _ in }
            let file = folder + "/" + (try #require(try lockFiles(folder).first))
            var longAgo = [timespec](repeating: timespec(tv_sec: 1, tv_nsec: 0), count: 2)
            #expect(utimensat(AT_FDCWD, file, &longAgo, 0) == 0)
            try await store.withLock(on: alice) { _ in
                var status = stat()
                #expect(stat(file, &status) == 0 && status.st_mtim.tv_sec > 1)
            }
        }
    }

    @Test func `when a lock waiter is cancelled, then it stops waiting`() async throws {
        try await withTemporaryFolder { folder in
            let (first, second) = try (SQLiteStore(folder: folder), SQLiteStore(folder: folder))
            try await first.apply([.putAccount(.example("alice"))], to: alice)
            try await first.withLock(on: alice) { _ in
                let waiter = Task { [alice] in try await second.withLock(on: alice) { _ in } }
                waiter.cancel()
                await #expect(throws: CancellationError.self) { try await waiter.value }
            }
        }
    }

    @Test func `when an account is removed, then its lock file goes`() async throws {
        try await withTemporaryFolder { folder in
            let (first, second) = try (SQLiteStore(folder: folder), SQLiteStore(folder: folder))
            try await first.apply([.putAccount(.example("alice"))], to: alice)
            let waiters = try await first.withLock(on: alice) { _ in
                let waiters = (0..<5).map { _ in
                    Task { [alice] in
                        try await second.withLock(on: alice) { _ in
                            try await second.apply([.putAccount(.example("alice"))], to: alice)
                            try await second.apply([.removeAccount], to: alice)
                        }
                    }
                }
                await Task.yield()
                try await first.apply([.removeAccount], to: alice)
                return waiters
            }
            for waiter in waiters { try await waiter.value }
            #expect(try lockFiles(folder).isEmpty)
        }
    }
}

/// Another process that holds a file's lock, by flock(1) of util-linux.
private final class LockHolder: @unchecked Sendable {
    private let process = Process()

    /// Returns when the lock is held.
    init(_ path: String) throws {
        let (input, output) = (Pipe(), Pipe())
        process.executableURL = URL(filePath: "/usr/bin/flock")
        // Without a fork, so that the killed process is the one that holds the lock.
        process.arguments = ["--no-fork", path, "cat"]
        process.standardInput = input
        process.standardOutput = output
        try process.run()
        try input.fileHandleForWriting.write(contentsOf: Data("ready\n".utf8))
        try #require(try output.fileHandleForReading.read(upToCount: 6) == Data("ready\n".utf8))
    }

    func kill() {
        guard process.isRunning else { return }
        Foundation.kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }
}
