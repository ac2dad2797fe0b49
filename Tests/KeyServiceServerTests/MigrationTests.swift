import Foundation
import GRDB
import KeyServiceAPI
import Testing
import VaultCrypto

@testable import KeyServiceServer

@Suite struct MigrationTests {
    let temporary: TemporaryFolder
    let folder: KeyServiceFolder

    init() throws {
        temporary = try TemporaryFolder()
        folder = KeyServiceFolder(path: temporary.data)
    }

    @Test func databaseOfTheFirstVersionOpensWithItsKeysAndGuesses() async throws {
        let made = try await FirstVersion(folder, [(strongSecret, 2), ("1234", 0)])
        let error = #expect(throws: KeyServiceServerError.self) { try folder.openStore() }
        #expect(error?.description.contains("older version") == true, "a server may be running on it")
        try await withFolder { client async throws in
            let reply = try await client.key(made.keys[0].keyid, secret: strongSecret, renews: true)
            #expect(reply.key?.key == made.keys[0].key)
            #expect(reply.key?.wrongGuesses == 2)
            #expect(reply.key?.lastWrongGuessAt == nil, "the first version did not write it down")
            let wrong = try await client.key(made.keys[0].keyid, secret: otherStrongSecret)
            #expect(wrong.problem?.guessesRemaining == 0)
            #expect(try await client.key(made.keys[1].keyid, secret: "1234").key?.key == made.keys[1].key)
        }
    }

    @Test func recordOfTheFirstVersionIsSealedAnewAtItsNextRightGuess() async throws {
        let made = try await FirstVersion(folder, [(strongSecret, 0), ("1234", 0), (strongSecret, 0)])
        try await withFolder { client async throws in
            // Only the long secret is known here, so the record cannot change.
            let long = try await client.key(made.keys[2].keyid, longSecret: made.keys[2].longsecret)
            #expect(long.key?.key == made.keys[2].key)
            for _ in 1...2 {
                #expect(try await client.key(made.keys[0].keyid, secret: strongSecret).key?.key == made.keys[0].key)
                #expect(try await client.key(made.keys[1].keyid, secret: "1234").key?.key == made.keys[1].key)
            }
            for key in made.keys.prefix(2) {
                #expect(try await client.key(key.keyid, longSecret: key.longsecret).key?.key == key.key)
            }
        }
        let store = try folder.openStore()
        let masterKeys = try folder.masterKeys()
        #expect(try await store.counts() == [.first: 1, masterKeys.current.id: 2])
        let rotation = try await MasterKeyRotation(store, masterKeys).run()
        #expect(rotation.waitingForOwner == 1)
        #expect(rotation.removed.isEmpty, "the last record still needs the master key")
    }

    @Test func firstVersionIsMadeAsItWas() async throws {
        try await folder.create()
        let queue = try DatabaseQueue(path: temporary.path + "/first.sqlite")
        try SQLiteSchema.migrator.migrate(queue, upTo: "1")
        let columns = try await queue.read { try $0.columns(in: "guess_counter").map(\.name) }
        #expect(columns == ["number", "wrong_guesses", "last_used_at"])
        try SQLiteSchema.migrator.migrate(queue)
        #expect(try await queue.read { try SQLiteSchema.migrator.hasCompletedMigrations($0) })
    }

    /// A damaged count locks the key or counts as zero. It never traps.
    @Test(arguments: [Int64.min, -1, Int64.max]) func damagedCountsDoNoHarm(count: Int64) async throws {
        let made = try await withFolder { try await $0.createKey(strongSecret) }
        let queue = try DatabaseQueue(path: folder.path + "/keys.sqlite")
        try await queue.write {
            try $0.execute(
                sql: "UPDATE guess_counter SET wrong_guesses = ?1, wrong_guesses_in_all = ?1, last_wrong_at = ?1",
                arguments: [count])
        }
        try queue.close()
        try await withFolder { client async throws in
            let status = try await client.key(made.keyid, secret: strongSecret).status
            #expect(status == (count > 0 ? 403 : 200))
        }
        _ = try await folder.openStore().summaries(after: nil, count: 10).map {
            GuessLimits().remaining(after: $0.wrongGuesses)
        }
    }

    private func withFolder<R: Sendable>(_ body: @escaping @Sendable (Client) async throws -> R) async throws -> R {
        let opened = try await folder.openCreatingIfAbsent()
        defer { opened.store.close() }
        return try await withService(opened, body)
    }
}

/// A folder as the first version of the program wrote it, with the master key in the data folder.
struct FirstVersion {
    let keys: [KeyResponse]

    /// - secrets: the secret of each key, and its wrong guesses.
    init(_ folder: KeyServiceFolder, _ secrets: [(secret: String, wrongGuesses: Int)]) async throws {
        try FileManager.default.createDirectory(
            atPath: folder.path, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        let masterKey = try MasterKey.random()
        let path = folder.masterKeyPath
        try FileManager.default.createDirectory(
            atPath: folder.path + "-secrets", withIntermediateDirectories: false,
            attributes: [.posixPermissions: 0o700])
        try masterKey.bytes.withUnsafeBytes { try Data($0).write(to: URL(fileURLWithPath: path)) }
        try setMode(0o600, path)
        let database = folder.path + "/keys.sqlite"
        let queue = try DatabaseQueue(path: database)
        try setMode(0o600, database)
        try SQLiteSchema.migrator.migrate(queue, upTo: "1")
        let check = try masterKey.makeEntry().check
        let records = try secrets.map { try Self.record($0.secret, masterKey) }
        keys = records.map(\.key)
        try await queue.write { db in
            try db.execute(sql: "INSERT INTO service VALUES (1, ?, 0)", arguments: [Data(check)])
            for (record, secret) in zip(records, secrets) {
                try db.execute(
                    sql: "INSERT INTO key_record VALUES (NULL, ?, 0, ?, ?, ?, ?, ?, ?)", arguments: record.arguments)
                try db.execute(
                    sql: "INSERT INTO guess_counter VALUES (?, ?, NULL)",
                    arguments: [db.lastInsertedRowID, secret.wrongGuesses])
            }
        }
        try queue.close()
    }

    private static func record(
        _ secret: String, _ masterKey: MasterKey
    ) throws -> (key: KeyResponse, arguments: StatementArguments) {
        let id = UUID().uuidString.lowercased()
        let salt = [UInt8](repeating: 9, count: 16)
        let pair = try KeyPair()
        let isStrong = KeyWrapping.isStrong(secret)
        let cost = Argon2Parameters.insecureForTests
        let key =
            isStrong
            ? try SecretBox(KeyWrapping.key(strongSecret: secret, salt: salt, masterKey: masterKey))
            : try SecretBox(
                KeyWrapping.key(stretching: secret, salt: salt, parameters: cost, masterKey: masterKey))
        let long = try KeyWrapping.key(longSecret: pair.longSecretText(), salt: salt, masterKey: masterKey)
        let bySecret = try pair.sealed(
            under: key.take(), context: KeyWrapping.contextForSecret(keyID: id, masterKey: masterKey))
        let byLong = try pair.sealed(
            under: long, context: KeyWrapping.contextForLongSecret(keyID: id, masterKey: masterKey))
        let numbers: [UInt32?] = isStrong ? [nil, nil, nil] : [cost.passes, cost.memoryKiB, cost.lanes]
        return (
            KeyResponse(keyid: id, key: pair.keyText(), longsecret: pair.longSecretText()),
            [id, numbers[0], numbers[1], numbers[2], Data(salt), Data(bySecret), Data(byLong)]
        )
    }
}
