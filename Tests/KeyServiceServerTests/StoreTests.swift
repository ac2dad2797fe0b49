import Foundation
import GRDB
import HummingbirdTesting
import KeyServiceAPI
import KeyServiceAudit
import KeyServiceCore
import KeyServiceSQLite
import Testing

@Suite struct StoreTests {
    let temporary: TemporaryFolder
    let folder: KeyServiceFolder

    init() throws {
        temporary = try TemporaryFolder()
        folder = KeyServiceFolder(path: temporary.data)
    }

    /// Runs the service on the folder. Makes the folder if it does not exist.
    func withFolder<R: Sendable>(
        _ body: @escaping @Sendable (Client) async throws -> R
    ) async throws -> R {
        let opened = try await folder.openCreatingIfAbsent()
        defer { opened.store.close() }
        return try await withService(opened, body)
    }

    private func expectRefusal(
        _ code: KeyServiceServerError.Code, saying word: String, sourceLocation: SourceLocation = #_sourceLocation
    ) async {
        let error = await #expect(throws: KeyServiceServerError.self, sourceLocation: sourceLocation) {
            try await withFolder { _ in }
        }
        #expect(error?.code == code, sourceLocation: sourceLocation)
        #expect(error?.description.contains(word) == true, sourceLocation: sourceLocation)
    }

    @Test func `when the service restarts, then keys and guesses stay`() async throws {
        let made = try await withFolder { client async throws in
            let made = [try await client.createKey(strongSecret), try await client.createKey("1234")]
            for key in made { _ = try await client.key(key.keyid, secret: "wrong") }
            return made
        }
        try await withFolder { client async throws in
            for (key, secret) in zip(made, [strongSecret, "1234"]) {
                #expect(try await client.key(key.keyid, secret: "wrong").problem?.guessesRemaining == 1)
                #expect(try await client.key(key.keyid, secret: secret).key?.key == key.key)
            }
        }
        // After an orderly end, the store also has the guesses that were given back last.
        let summaries = try await folder.openStore().summaries(after: nil, count: 10, GuessLimits()).keys
        #expect(summaries.map(\.wrongGuesses.inARow) == [0, 0])
        #expect(summaries.allSatisfy { $0.lastUsedAt != nil })
        #expect(summaries.map(\.details.kind) == [1, 2])
    }

    @Test func `when files are made, then only the owner has access`() async throws {
        try await withFolder { client in _ = try await client.createKey(strongSecret) }
        for path in [folder.path, folder.path + "-secrets"] {
            #expect(try mode(path) == 0o700)
            for name in try FileManager.default.contentsOfDirectory(atPath: path) {
                #expect(try mode(path + "/" + name) == 0o600, "\(name)")
            }
        }
    }

    @Test func `when keys are stored, then no file contains a secret`() async throws {
        let folder = folder
        let (made, content) = try await withFolder { client async throws in
            let made = [try await client.createKey(strongSecret), try await client.createKey("correct horse")]
            for key in made { _ = try await client.key(key.keyid, longSecret: key.longsecret) }
            let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
            #expect(!names.contains("master.key"), "a copy of the folder must not have it")
            #expect(names.contains("keys.sqlite-wal"))
            var content = Data()
            for name in names {
                content += try Data(contentsOf: URL(fileURLWithPath: folder.path + "/" + name))
            }
            return (made, content)
        }
        #expect(content.range(of: Data(made[0].keyid.utf8)) != nil, "the records are in what was read")
        var secrets = [Data(strongSecret.utf8), Data("correct horse".utf8)]
        secrets.append(try Data(contentsOf: URL(fileURLWithPath: folder.masterKeyPath)))
        for key in made {
            secrets += [Data(key.key.utf8), Data(key.longsecret.utf8), try #require(Data(base64Encoded: key.key))]
        }
        for secret in secrets { #expect(content.range(of: secret) == nil) }
    }

    @Test func `when the master key is missing, then serving fails`() async throws {
        try await withFolder { _ in }
        try FileManager.default.removeItem(atPath: folder.masterKeyPath)
        await expectRefusal(.configurationInvalid, saying: "master.key does not exist")
        #expect(!FileManager.default.fileExists(atPath: folder.masterKeyPath), "none is made up")
    }

    @Test func `when the master key is wrong, then serving fails`() async throws {
        let made = try await withFolder { try await $0.createKey(strongSecret) }
        let right = try Data(contentsOf: URL(fileURLWithPath: folder.masterKeyPath))
        try Data(right.reversed()).write(to: URL(fileURLWithPath: folder.masterKeyPath))
        try setMode(0o600, folder.masterKeyPath)
        await expectRefusal(.configurationInvalid, saying: "needs the master key")
        try right.write(to: URL(fileURLWithPath: folder.masterKeyPath))
        try setMode(0o600, folder.masterKeyPath)
        try await withFolder { client async throws in
            let left = try await client.key(made.keyid, secret: "wrong").problem?.guessesRemaining
            #expect(left == 2, "no guess was lost")
            #expect(try await client.key(made.keyid, secret: strongSecret).key?.key == made.key)
        }
    }

    @Test(arguments: ["-secrets/master.key", "/keys.sqlite", ""])
    func `when others can read the data, then serving fails`(name: String) async throws {
        try await withFolder { _ in }
        try setMode(name.isEmpty ? 0o755 : 0o644, folder.path + name)
        await expectRefusal(.configurationInvalid, saying: "open to other users")
    }

    @Test(arguments: [0, 31, 33])
    func `when the master key's size is wrong, then serving fails`(size: Int) async throws {
        try await withFolder { _ in }
        try Data(repeating: 7, count: size).write(to: URL(fileURLWithPath: folder.masterKeyPath))
        try setMode(0o600, folder.masterKeyPath)
        await expectRefusal(.configurationInvalid, saying: "does not have 32 bytes")
    }

    @Test func `when a folder exists, then creating overwrites no master key`() async throws {
        try await folder.create()
        let before = try Data(contentsOf: URL(fileURLWithPath: folder.masterKeyPath))
        await #expect(throws: KeyServiceServerError.self) { try await folder.create() }
        try FileManager.default.removeItem(atPath: folder.path + "/keys.sqlite")
        await #expect(throws: KeyServiceServerError.self) { try await folder.create() }
        #expect(try Data(contentsOf: URL(fileURLWithPath: folder.masterKeyPath)) == before)
    }

    @Test func `when the master key is elsewhere, then the service works`() async throws {
        let elsewhere = KeyServiceFolder(path: folder.path, masterKeyFile: temporary.path + "/other.key")
        try await elsewhere.create()
        #expect(!FileManager.default.fileExists(atPath: folder.path + "/master.key"))
        let opened = try await elsewhere.open()
        defer { opened.store.close() }
        try await withService(opened) { _ = try await $0.createKey(strongSecret) }
    }

    @Test func `when the database is newer, then its file stays unchanged`() async throws {
        try await withFolder { _ = try await $0.createKey(strongSecret) }
        let path = folder.path + "/keys.sqlite"
        let queue = try DatabaseQueue(path: path)
        try await queue.write { try $0.execute(sql: "INSERT INTO grdb_migrations VALUES ('9999')") }
        try queue.close()
        let before = try Data(contentsOf: URL(fileURLWithPath: path))
        await expectRefusal(.storeTooNew, saying: "newer version")
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == before)
    }

    @Test func `when the database is garbage, then its file stays unchanged`() async throws {
        try await withFolder { _ in }
        let path = folder.path + "/keys.sqlite"
        let garbage = Data(repeating: 0x5A, count: 8192)
        try garbage.write(to: URL(fileURLWithPath: path))
        try setMode(0o600, path)
        await expectRefusal(.storeUnusable, saying: "cannot be used")
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == garbage)
    }

    @Test func `when a folder is open, then another opening fails`() async throws {
        let store = try await folder.openCreatingIfAbsent().store
        let error = await #expect(throws: KeyServiceServerError.self) { try await folder.open() }
        #expect(error?.code == .busy)
        store.close()
        try await folder.open().store.close()
    }

    @Test func `when a record is damaged or swapped, then release fails`() async throws {
        let made = try await withFolder { client async throws in
            try await [client.createKey(strongSecret), client.createKey(otherStrongSecret)]
        }
        let queue = try DatabaseQueue(path: folder.path + "/keys.sqlite")
        try await queue.write { db in
            // The second key's content under the first key's id, and the second key's content cut short.
            try db.execute(
                sql: """
                    UPDATE key_record SET (details, content) =
                        (SELECT details, content FROM key_record WHERE id = ?) WHERE id = ?
                    """, arguments: [made[1].keyid, made[0].keyid])
            try db.execute(
                sql: "UPDATE key_record SET content = x'4356' WHERE id = ?", arguments: [made[1].keyid])
        }
        try queue.close()
        try await withFolder { client async throws in
            for (key, secret) in zip(made, [otherStrongSecret, otherStrongSecret]) {
                for _ in 1...4 {
                    // Damage is the service's fault and costs no guess.
                    #expect(try await client.key(key.keyid, secret: secret).status == 500)
                }
                #expect(try await client.key(key.keyid, longSecret: made[1].longsecret).status == 500)
            }
        }
    }

    @Test func `when a backup is restored, then later keys are absent`() async throws {
        let backup = temporary.path + "/backup.sqlite"
        let folder = folder
        let (early, late) = try await withFolder { client async throws in
            let early = try await client.createKey(strongSecret)
            _ = try await client.key(early.keyid, secret: "wrong")
            try folder.openStore().backUp(to: backup)
            return (early, try await client.createKey(strongSecret))
        }
        #expect(try mode(backup) == 0o600)
        #expect(throws: KeyServiceServerError.self) { try folder.openStore().backUp(to: backup) }
        try await folder.restore(from: backup)
        try await withFolder { client async throws in
            // The backup does not know of later wrong guesses, so only one is left.
            #expect(try await client.key(early.keyid, secret: strongSecret).key?.key == early.key)
            #expect(try await client.key(late.keyid, secret: strongSecret).status == 404)
        }
    }

    @Test func `when a key is deleted, then its bytes are gone`() async throws {
        let made = try await withFolder { try await $0.createKey(strongSecret) }
        let path = folder.path + "/keys.sqlite"
        let queue = try DatabaseQueue(path: path)
        let blob = try await queue.read { try Data.fetchOne($0, sql: "SELECT content FROM key_record") }
        try queue.close()
        let wrapped = try #require(blob)
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)).range(of: wrapped) != nil)
        #expect(try await folder.openStore().delete(keyID: made.keyid))
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)).range(of: wrapped) == nil)
        let reply = try await withFolder { try await $0.key(made.keyid, secret: strongSecret) }
        #expect(reply.status == 404)
    }

    /// A damaged count locks the key or counts as zero. It never traps.
    @Test(arguments: [Int64.min, -1, Int64.max])
    func `when a count is damaged, then only high values lock`(count: Int64) async throws {
        let made = try await withFolder { try await $0.createKey(strongSecret) }
        let queue = try DatabaseQueue(path: folder.path + "/keys.sqlite")
        try await queue.write {
            try $0.execute(
                sql: "UPDATE key_record SET wrong_in_all = ?1, last_used_at = ?1",
                arguments: [count])
        }
        try queue.close()
        try await withFolder { client async throws in
            let status = try await client.key(made.keyid, secret: strongSecret).status
            #expect(status == (count > 0 ? 403 : 200))
        }
        _ = try await folder.openStore().summaries(after: nil, count: 10, GuessLimits())
    }

    @Test func `when stored guesses are damaged, then the key is unusable`() async throws {
        let made = try await withFolder { try await $0.createKey(strongSecret) }
        func guesses(damaging: Bool) async throws -> String? {
            let queue = try DatabaseQueue(path: folder.path + "/keys.sqlite")
            if damaging { try await queue.write { try $0.execute(sql: "UPDATE key_record SET guesses = x'00ff'") } }
            let sql = "SELECT hex(guesses) || ' ' || wrong_in_all FROM key_record"
            let stored = try await queue.read { try String.fetchOne($0, sql: sql) }
            try queue.close()
            return stored
        }
        #expect(try await guesses(damaging: true) == "00FF 0")
        try await withFolder { client async throws in
            #expect(try await client.key(made.keyid, secret: strongSecret).status == 500)
            #expect(try await client.key(made.keyid, secret: otherStrongSecret).status == 500)
        }
        #expect(try await guesses(damaging: false) == "00FF 0", "they cost no guess")
        let page = try await folder.openStore().page(after: nil, count: 10, of: .all)
        #expect(page.damaged == [made.keyid])
    }
}
