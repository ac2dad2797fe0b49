import Foundation
import GRDB
import KeyServiceAPI
import Testing

@testable import KeyServiceServer

@Suite struct MigrationTests {
    let temporary: TemporaryFolder
    let folder: KeyServiceFolder

    init() throws {
        temporary = try TemporaryFolder()
        folder = KeyServiceFolder(path: temporary.data)
    }

    @Test func databaseOfTheFirstVersionOpensWithItsKeysAndGuesses() async throws {
        let made = try await withFolder { client async throws in
            let made = [try await client.createKey(strongSecret), try await client.createKey("1234")]
            for _ in 1...2 { _ = try await client.key(made[0].keyid, secret: otherStrongSecret) }
            return made
        }
        try await makeFirstVersion()
        let before = try folder.openStore().summaries()
        #expect(before.map(\.wrongGuesses) == [GuessCount(inARow: 2, inAll: 2), GuessCount()])
        try await withFolder { client async throws in
            let reply = try await client.key(made[0].keyid, secret: strongSecret, renews: true)
            #expect(reply.key?.key == made[0].key)
            #expect(reply.key?.wrongGuesses == 2)
            #expect(reply.key?.lastWrongGuessAt == nil, "the first version did not write it down")
            #expect(try await client.key(made[0].keyid, secret: otherStrongSecret).problem?.guessesRemaining == 0)
            #expect(try await client.key(made[1].keyid, secret: "1234").key?.key == made[1].key)
        }
    }

    @Test func firstVersionIsMadeAsItWas() async throws {
        try folder.create()
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
        _ = try folder.openStore().summaries().map { GuessLimits().remaining(after: $0.wrongGuesses) }
    }

    private func withFolder<R: Sendable>(_ body: @escaping @Sendable (Client) async throws -> R) async throws -> R {
        let (store, masterKey) = try folder.openCreatingIfAbsent()
        defer { store.close() }
        return try await withService(store: store, masterKey: masterKey, body)
    }

    /// Turns the database into one that the first version of the program wrote.
    private func makeFirstVersion() async throws {
        let queue = try DatabaseQueue(path: folder.path + "/keys.sqlite")
        try await queue.write {
            try $0.execute(
                sql: """
                    ALTER TABLE guess_counter DROP COLUMN wrong_guesses_in_all;
                    ALTER TABLE guess_counter DROP COLUMN last_wrong_at;
                    DELETE FROM grdb_migrations WHERE identifier = '2';
                    """)
        }
        try queue.close()
    }
}
