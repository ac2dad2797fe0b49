import Foundation
import KeyServiceAPI
import KeyServiceTestSupport
import Testing

@testable import KeyServiceAudit
@testable import KeyServiceCore
@testable import KeyServiceSQLite

/// A database that went back in time, and the locks and master keys that stay in it.
@Suite struct RollbackTests {
    let temporary: TemporaryFolder
    let folder: KeyServiceFolder

    init() throws {
        temporary = try TemporaryFolder()
        folder = KeyServiceFolder(path: temporary.data)
    }

    private func serve<R: Sendable>(
        maxGuesses: Int? = nil, _ body: @escaping @Sendable (Client) async throws -> R
    ) async throws -> R {
        let opened = try await folder.openCreatingIfAbsent()
        defer { opened.store.close() }
        return try await withService(opened, maxGuesses: maxGuesses, body)
    }

    /// Makes a key and a backup, then locks the key.
    private func lockAfterBackup() async throws -> (key: KeyResponse, backup: String) {
        let backup = temporary.path + "/backup.sqlite"
        let folder = folder
        let key = try await serve { client async throws in
            let key = try await client.createKey(strongSecret)
            try folder.openStore().backUp(to: backup)
            for _ in 1...3 { _ = try await client.key(key.keyid, secret: otherStrongSecret) }
            return key
        }
        return (key, backup)
    }

    @Test func `when an older database is accepted, then one guess remains`() async throws {
        let (key, backup) = try await lockAfterBackup()
        let database = folder.path + "/keys.sqlite"
        for name in [database, database + "-wal", database + "-shm"] {
            try? FileManager.default.removeItem(atPath: name)
        }
        try FileManager.default.copyItem(atPath: backup, toPath: database)
        let error = await #expect(throws: KeyServiceServerError.self) { try await folder.open() }
        #expect(error?.code == .rolledBack)
        #expect(error?.remedy == .acceptRollback)
        try await folder.acceptRollback()
        try await serve { client async throws in
            #expect(try await client.key(key.keyid, secret: otherStrongSecret).problem?.guessesRemaining == 0)
            #expect(try await client.key(key.keyid, secret: strongSecret).status == 403)
        }
    }

    @Test func `when an older backup is restored, then audit logs stay`() async throws {
        let (_, backup) = try await lockAfterBackup()
        let store = try folder.openStore()
        try await store.addAuditLog([7])
        store.close()
        try await folder.restore(from: backup)
        #expect(await folder.auditLogs() == [[7]])
    }

    @Test func `when a backup is restored, then the owner's secret works`() async throws {
        let (key, backup) = try await lockAfterBackup()
        try await folder.restore(from: backup)
        try await serve { client async throws in
            #expect(try await client.key(key.keyid, secret: strongSecret).key?.key == key.key)
            #expect(try await client.key(key.keyid, secret: otherStrongSecret).problem?.guessesRemaining == 2)
        }
        #expect(FileManager.default.fileExists(atPath: folder.path + "/keys.sqlite.before-restore"))
        await #expect(throws: KeyServiceServerError.self) { try await folder.restore(from: backup) }
    }

    @Test func `when a backup is another service's, then restoring fails`() async throws {
        let (key, _) = try await lockAfterBackup()
        let other = KeyServiceFolder(path: temporary.path + "/other")
        try await other.create()
        let backup = temporary.path + "/other.sqlite"
        try other.openStore().backUp(to: backup)
        let error = await #expect(throws: KeyServiceServerError.self) { try await folder.restore(from: backup) }
        #expect(error?.code == .configurationInvalid)
        let status = try await serve { try await $0.key(key.keyid, secret: strongSecret).status }
        #expect(status == 403, "the database is the old one")
    }

    @Test(arguments: ["", "garbage"])
    func `when the high-water mark is unusable, then opening needs acceptance`(content: String) async throws {
        _ = try await serve { try await $0.createKey(strongSecret) }
        try FileManager.default.removeItem(atPath: folder.highWaterMarkPath)
        if !content.isEmpty {
            try Data(content.utf8).write(to: URL(fileURLWithPath: folder.highWaterMarkPath))
            try setMode(0o600, folder.highWaterMarkPath)
        }
        let error = await #expect(throws: KeyServiceServerError.self) { try await folder.open() }
        #expect(error?.remedy == .acceptRollback)
        try await folder.acceptRollback()
        try await folder.open().store.close()
    }

    @Test func `when the limit rises, then a locked key stays locked`() async throws {
        let (key, _) = try await lockAfterBackup()
        try await serve(maxGuesses: 10) { client async throws in
            #expect(try await client.key(key.keyid, secret: strongSecret).status == 403)
            let other = try await client.createKey(strongSecret)
            #expect(try await client.key(other.keyid, secret: otherStrongSecret).problem?.guessesRemaining == 9)
        }
        // The store keeps the limit.
        try await serve { client async throws in
            let other = try await client.createKey(strongSecret)
            #expect(try await client.key(other.keyid, secret: otherStrongSecret).problem?.guessesRemaining == 9)
        }
        let store = try folder.openStore()
        try await store.unlock(keyID: key.keyid)
        let answer = try await serve { try await $0.key(key.keyid, secret: strongSecret) }
        #expect(answer.status == 200)
    }

    @Test func `when a key is revoked, then no secret releases it`() async throws {
        let folder = folder
        try await serve { client async throws in
            let key = try await client.createKey(strongSecret)
            let store = try folder.openStore()
            try await store.revoke(keyID: key.keyid)
            #expect(try await client.key(key.keyid, secret: strongSecret).status == 403)
            #expect(try await client.key(key.keyid, longSecret: key.longsecret).status == 403)
            await #expect(throws: KeyServiceServerError.self) { try await store.unlock(keyID: key.keyid) }
            let summary = try await store.summaries(after: nil, count: 10, GuessLimits())
            #expect(summary.keys.map(\.lock) == [.revoked])
        }
    }

    @Test func `when a running service changes master keys, then keys open`() async throws {
        let keys = try await serve { client async throws in
            let keys = try await [client.createKey(strongSecret), client.createKey("1234")]
            _ = try await client.key(keys[0].keyid, secret: otherStrongSecret)
            return keys
        }
        let old = folder.masterKeyPath
        let new = temporary.path + "/new.key"
        _ = try MasterKey.create(path: new)
        let both = KeyServiceFolder(
            path: folder.path, masterKeyFile: new, oldMasterKeyFiles: [old],
            highWaterMarkFile: folder.highWaterMarkPath)
        let opened = try await both.open()
        let outcome = try await withService(opened) { client async throws in
            let store = try both.openStore()
            let outcome = try await MasterKeyRotation(store, both.masterKeys()).run()
            #expect(try await client.key(keys[0].keyid, secret: strongSecret).key?.wrongGuesses == 1)
            #expect(try await client.key(keys[1].keyid, secret: "1234").key?.key == keys[1].key)
            return outcome
        }
        opened.store.close()
        #expect(outcome.resealed == 2)
        #expect(outcome.removed.count == 1)
        try FileManager.default.removeItem(atPath: old)
        let alone = KeyServiceFolder(
            path: folder.path, masterKeyFile: new, highWaterMarkFile: folder.highWaterMarkPath)
        let last = try await alone.open()
        defer { last.store.close() }
        try await withService(last) { client async throws in
            #expect(try await client.key(keys[0].keyid, longSecret: keys[0].longsecret).key?.key == keys[0].key)
        }
    }

    @Test func `when the server lacks the new key, then rotating fails`() async throws {
        let (folder, new) = (folder, temporary.path + "/new.key")
        let both = KeyServiceFolder(path: folder.path, masterKeyFile: new, oldMasterKeyFiles: [folder.masterKeyPath])
        _ = try MasterKey.create(path: new)
        let opened = try await folder.openCreatingIfAbsent()
        let key = try await withService(opened) { client async throws in
            let key = try await client.createKey(strongSecret)
            let rotation = MasterKeyRotation(try both.openStore(), try both.masterKeys())
            let error = await #expect(throws: KeyServiceServerError.self) { try await rotation.run() }
            #expect(error?.remedy == .restartServers)
            #expect(try await client.get("/readyz").status == 200)
            #expect(try await client.key(key.keyid, secret: strongSecret).status == 200)
            return key
        }
        // A server that was killed leaves its master keys in the database, but no lock.
        let killed = ServerCheckIn(server: 1, time: 1, masterKeys: try folder.masterKeys().ids)
        _ = try await opened.store.checkIn(killed, deadline: .now + .seconds(20))
        opened.store.close()
        let outcome = try await MasterKeyRotation(both.openStore(), both.masterKeys()).run()
        #expect(outcome.resealed == 1)
        let restarted = try await both.open()
        defer { restarted.store.close() }
        let answer = try await withService(restarted) { try await $0.key(key.keyid, secret: strongSecret) }
        #expect(answer.key?.key == key.key)
    }

    @Test func `when a backup predates a rotation, then restoring reseals it`() async throws {
        let (key, backup) = try await lockAfterBackup()
        let (old, new) = (folder.masterKeyPath, temporary.path + "/new.key")
        let both = KeyServiceFolder(path: folder.path, masterKeyFile: new, oldMasterKeyFiles: [old])
        let alone = KeyServiceFolder(path: folder.path, masterKeyFile: new)
        _ = try MasterKey.create(path: new)
        _ = try await MasterKeyRotation(both.openStore(), both.masterKeys()).run()
        let error = await #expect(throws: KeyServiceServerError.self) { try await alone.restore(from: backup) }
        let needed = try folder.masterKeys().current.id
        #expect(error?.description.hasPrefix("The database needs the master key \(needed).") == true)
        #expect(error?.remedy == .nameMasterKey)
        let outcome = try await both.restore(from: backup)
        #expect(outcome.resealed == 1 && outcome.removed == [needed] && outcome.damaged.isEmpty)
        try FileManager.default.removeItem(atPath: old)
        let opened = try await alone.open()
        defer { opened.store.close() }
        let answer = try await withService(opened) { try await $0.key(key.keyid, secret: strongSecret) }
        #expect(answer.key?.key == key.key)
    }

    @Test func `when the old master key is missing, then opening fails`() async throws {
        _ = try await serve { try await $0.createKey(strongSecret) }
        let new = temporary.path + "/new.key"
        _ = try MasterKey.create(path: new)
        let alone = KeyServiceFolder(
            path: folder.path, masterKeyFile: new, highWaterMarkFile: folder.highWaterMarkPath)
        let error = await #expect(throws: KeyServiceServerError.self) { try await alone.open() }
        #expect(error?.code == .configurationInvalid)
    }

    @Test func `when check-ins run in parallel, then no rollback is reported`() async throws {
        let opened = try await folder.openCreatingIfAbsent()
        defer { opened.store.close() }
        let watch = StoreWatch(
            commits: GroupCommit(store: opened.store), masterKeys: opened.masterKeys, mark: opened.mark, now: { 0 })
        _ = try await inParallel(200) { try await watch.checkIn() }
        try await opened.mark?.check(opened.store.state())
        #expect(try await opened.store.state().generation == opened.mark?.generation)
    }

    @Test func `when a served database goes back, then the check-in fails`() async throws {
        let store = InMemoryKeyRecordStore()
        let watch = StoreWatch(
            commits: GroupCommit(store: store), masterKeys: MasterKeys(try .random()), mark: nil, now: { 0 })
        for _ in 1...3 { try await watch.checkIn() }
        try await store.acceptRollback(generation: 1, now: 1)
        let error = await #expect(throws: KeyServiceServerError.self) { try await watch.checkIn() }
        #expect(error?.code == .rolledBack)
    }

    @Test(.timeLimit(.minutes(1)))
    func `when any check-in finds a rollback, then the service ends`() async throws {
        let store = InMemoryKeyRecordStore()
        let watch = StoreWatch(
            commits: GroupCommit(store: store), masterKeys: MasterKeys(try .random()), mark: nil, now: { 0 })
        for _ in 1...3 { try await watch.checkIn() }
        try await store.write(generation: 1)
        await #expect(throws: KeyServiceServerError.self) { try await watch.checkIn() }
        // As if other instances had gone on.
        try await store.write(generation: 100)
        let error = await #expect(throws: KeyServiceServerError.self) { try await watch.run { _ in } }
        #expect(error?.code == .rolledBack)
    }

    @Test func `when one instance finds a rollback, then it stays found`() async throws {
        let store = InMemoryKeyRecordStore()
        let masterKeys = MasterKeys(try .random())
        let (first, second, third) = (mark("first"), mark("second"), mark("third"))
        func makeWatch(_ mark: String) throws -> StoreWatch {
            StoreWatch(
                commits: GroupCommit(store: store), masterKeys: masterKeys, mark: try HighWaterMark(path: mark),
                now: { 0 })
        }
        let watches = try (makeWatch(first), makeWatch(second), makeWatch(third))
        try await watches.2.checkIn()
        try await watches.0.checkIn()
        try await watches.1.checkIn()
        // A standby took over that missed the last check-in. Only the second instance can know.
        try await store.write(generation: 2)
        let error = await #expect(throws: KeyServiceServerError.self) { try await watches.1.checkIn() }
        #expect(error?.code == .rolledBack)
        for _ in 1...10 {
            try await watches.2.checkIn()
            try await watches.0.checkIn()
        }
        let state = try await store.state()
        for _ in 1...2 {
            let start = await #expect(throws: KeyServiceServerError.self) {
                try await HighWaterMark(path: second).check(state, isShared: true)
            }
            #expect(start?.code == .rolledBack)
        }
        // The operator accepts it at another instance.
        try await store.acceptRollback(generation: HighWaterMark.next(first, after: state), now: 0)
        try await HighWaterMark(path: second).check(store.state(), isShared: true)
        try await makeWatch(second).checkIn()
        #expect(try await HighWaterMark(path: second).generation == store.state().generation)
    }

    private func mark(_ name: String) -> String { temporary.path + "/" + name }

    @Test func `when a start finds a rollback, then later starts do`() async throws {
        let store = InMemoryKeyRecordStore()
        try await store.write(generation: 5)
        _ = try await folder.create(in: store)
        // Other instances go on with the older database.
        for generation in [4, 100] as [Int64] {
            try await store.write(generation: generation)
            let error = await #expect(throws: KeyServiceServerError.self) { try await folder.open(store) }
            #expect(error?.code == .rolledBack)
        }
        try await folder.acceptRollback(of: store)
        _ = try await folder.open(store)
    }

    @Test func `when the right database comes back, then its mark fits`() async throws {
        var state = StoreState(storeID: [1], generation: 0, limits: GuessLimits(), masterKeys: [])
        try await HighWaterMark(path: mark("only")).check(state)
        state.generation = 5
        try await HighWaterMark(path: mark("only")).raise(to: state)
        state.generation = 4
        await #expect(throws: KeyServiceServerError.self) { try await HighWaterMark(path: mark("only")).check(state) }
        state.generation = 5
        try await HighWaterMark(path: mark("only")).check(state)
    }

    @Test func `when restoring replaces an open database, then its log survives`() async throws {
        let (_, backup) = try await lockAfterBackup()
        let reader = try folder.openStore()
        defer { reader.close() }
        let writer = try folder.openStore()
        try await writer.setLimits(GuessLimits(inARow: 7, inAll: 70))
        try await folder.restore(from: backup)
        writer.close()
        let kept = try SQLiteKeyRecordStore(path: folder.path + "/keys.sqlite.before-restore", for: .operate(nil))
        defer { kept.close() }
        #expect(try await kept.state().limits.inARow == 7, "the last change is still in the log")
    }

    @Test func `when the database is damaged, then a backup replaces it`() async throws {
        let (key, backup) = try await lockAfterBackup()
        let database = folder.path + "/keys.sqlite"
        try Data(repeating: 0x5A, count: 8192).write(to: URL(fileURLWithPath: database))
        try setMode(0o600, database)
        try await folder.restore(from: backup)
        let answer = try await serve { try await $0.key(key.keyid, secret: strongSecret) }
        #expect(answer.key?.key == key.key)
    }

    @Test func `when the mark has an impossible generation, then acceptance fails`() async throws {
        _ = try await serve { try await $0.createKey(strongSecret) }
        let text = try String(contentsOfFile: folder.highWaterMarkPath, encoding: .utf8)
        let words = text.split(separator: " ").dropLast().joined(separator: " ")
        try Data((words + " \(Int64.max)\n").utf8).write(to: URL(fileURLWithPath: folder.highWaterMarkPath))
        let error = await #expect(throws: KeyServiceServerError.self) { try await folder.acceptRollback() }
        #expect(error?.code == .storeUnusable)
    }

    @Test(arguments: ["/.", "/"])
    func `when the folder's path is indirect, then secrets stay outside`(suffix: String) async throws {
        try await folder.create()
        #expect(KeyServiceFolder(path: folder.path + suffix).masterKeyPath.hasSuffix("data-secrets/master.key"))
        let link = temporary.path + "/link"
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: folder.path)
        #expect(KeyServiceFolder(path: link).masterKeyPath.hasSuffix("data-secrets/master.key"))
    }

    @Test func `when a rotation is called off, then the key opens`() async throws {
        let key = try await serve { try await $0.createKey(strongSecret) }
        let new = temporary.path + "/new.key"
        _ = try MasterKey.create(path: new)
        let both = KeyServiceFolder(
            path: folder.path, masterKeyFile: new, oldMasterKeyFiles: [folder.masterKeyPath],
            highWaterMarkFile: folder.highWaterMarkPath)
        try await both.open().store.close()
        try FileManager.default.removeItem(atPath: new)
        let answer = try await serve { try await $0.key(key.keyid, secret: strongSecret) }
        #expect(answer.status == 200)
    }

    @Test func `when a restore is interrupted, then another call finishes it`() async throws {
        let (key, backup) = try await lockAfterBackup()
        let database = folder.path + "/keys.sqlite"
        // As if the process had died after the first renaming.
        try FileManager.default.moveItem(atPath: database, toPath: database + ".before-restore")
        try Data("log".utf8).write(to: URL(fileURLWithPath: database + "-wal"))
        await #expect(throws: KeyServiceServerError.self) { try await folder.open() }
        try await folder.restore(from: backup)
        #expect(FileManager.default.fileExists(atPath: database + ".before-restore-wal"))
        let answer = try await serve { try await $0.key(key.keyid, secret: strongSecret) }
        #expect(answer.key?.key == key.key)
    }
}
