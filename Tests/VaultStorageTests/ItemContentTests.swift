import Foundation
import TestSupport
import Testing
import VaultSQLite
import VaultStorage
import VaultStorageTestSupport

/// Items in chunks, in their stored form.
@Suite struct ItemContentTests {
    private let alice = AccountID(issuer: issuer, subject: "alice")
    private static let notes: ItemName = "notes"

    private func content(_ size: Int, _ salt: UInt8 = 0) -> [UInt8] {
        (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) &+ salt }
    }

    private func change(_ contents: ItemContents, _ name: ItemName, _ content: [UInt8]) async throws -> StoreChange {
        let pieces = AsyncStream<[UInt8]> { continuation in
            continuation.yield(content)
            continuation.finish()
        }
        return try await contents.sealed(pieces, as: name)
    }

    private func set(_ contents: ItemContents, _ name: ItemName, _ content: [UInt8]) async throws {
        try await contents.store.apply([change(contents, name, content)], to: contents.id)
    }

    private func get(_ contents: ItemContents, _ name: ItemName) async throws -> [UInt8]? {
        guard let item = try await contents.item(name) else { return nil }
        return try await item.content.reduce(into: []) { $0 += $1 }
    }

    private func withContents(_ body: (ItemContents, SQLiteStore, String) async throws -> Void) async throws {
        try await withTemporaryFolder { folder in
            let store = try SQLiteStore(folder: folder)
            let key = try await Registry(store: store).register("alice")
            try await body(ItemContents(store: store, id: alice, vaultKey: key), store, folder)
        }
    }

    @Test func `when chunks are damaged, moved or mixed, then reading fails`() async throws {
        try await withContents { contents, _, folder in
            let damages = [
                "DELETE FROM chunk WHERE name = 'notes' AND number = 3",
                "DELETE FROM chunk WHERE name = 'notes' AND number = 0",
                "DELETE FROM chunk WHERE name = 'notes'",
                "UPDATE chunk SET sealed = x'' WHERE name = 'notes' AND number = 1",
                "UPDATE chunk SET sealed = CAST(sealed || x'00' AS BLOB) WHERE name = 'notes' AND number = 1",
                """
                UPDATE chunk SET number = 10 WHERE name = 'notes' AND number = 1;
                UPDATE chunk SET number = 1 WHERE name = 'notes' AND number = 2;
                UPDATE chunk SET number = 2 WHERE name = 'notes' AND number = 10
                """,
                """
                UPDATE chunk SET sealed = (SELECT sealed FROM chunk WHERE name = 'other' AND number = 1)
                    WHERE name = 'notes' AND number = 1
                """,
                """
                DELETE FROM item WHERE name = 'notes'; DELETE FROM chunk WHERE name = 'notes';
                UPDATE chunk SET name = 'notes' WHERE name = 'other'; UPDATE item SET name = 'notes' WHERE name = 'other'
                """,
                "UPDATE item SET sealed = (SELECT sealed FROM item WHERE name = 'other') WHERE name = 'notes'",
                "UPDATE item SET sealed = substr(sealed, 1, 26) WHERE name = 'notes'",
            ]
            for damage in damages {
                try await set(contents, Self.notes, content(200_000))
                try await set(contents, "other", content(200_000, 1))
                #expect(try await get(contents, Self.notes) == content(200_000))
                try Raw.execute(folder, damage)
                do {
                    _ = try await get(contents, Self.notes)
                    Issue.record("it opens after: \(damage)")
                } catch {
                    #expect((VaultError.converting(error) as? VaultError)?.code == .storeCorrupt, "\(damage)")
                }
            }
        }
    }

    @Test func `when an item or account is removed, then chunks vanish`() async throws {
        try await withContents { contents, store, folder in
            func find(_ chunk: [UInt8]) throws -> [String] {
                try FileManager.default.contentsOfDirectory(atPath: folder).filter {
                    try Data(contentsOf: URL(filePath: folder).appending(path: $0))
                        .range(of: Data(chunk[1_000..<1_100])) != nil
                }
            }
            let changes: [@Sendable (ItemContents) async throws -> [StoreChange]] = [
                { _ in [.removeItem(Self.notes)] }, { _ in [.removeAccount] },
            ]
            for change in changes {
                try await set(contents, Self.notes, content(500_000))
                let head = try #require(try await store.item(Self.notes, of: alice))
                let chunk = try #require(try await store.chunk(2, ofItem: Self.notes, head: head, of: alice))
                #expect(try await store.chunk(8, ofItem: Self.notes, head: head, of: alice) == nil)
                #expect(try await store.chunk(2, ofItem: Self.notes, head: head + [0], of: alice) == nil)
                #expect(try await store.chunk(2, ofItem: "other", head: head, of: alice) == nil)
                #expect(try find(chunk) == ["vault.sqlite"])
                try await store.apply(change(contents), to: alice)
                #expect(try find(chunk) == [])
                #expect(try await store.chunk(2, ofItem: Self.notes, head: head, of: alice) == nil)
            }
            // The folder contains only the store's files.
            let names = try FileManager.default.contentsOfDirectory(atPath: folder).filter { !$0.hasSuffix(".lock") }
            #expect(Set(names).isSubset(of: ["vault.sqlite", "vault.sqlite-wal", "vault.sqlite-shm"]))
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `when a combined change fails, then the old chunks stay`(kind: StoreKind) async throws {
        try await kind.withStore { store in
            let key = try await Registry(store: store).register("alice")
            let contents = ItemContents(store: store, id: alice, vaultKey: key)
            try await set(contents, Self.notes, content(200_000))
            let changes = [
                try await change(contents, Self.notes, content(300_000, 3)),
                .changeRecord("x") { _ in throw CancellationError() },
            ]
            await #expect(throws: CancellationError.self) { try await store.apply(changes, to: alice) }
            #expect(try await get(contents, Self.notes) == content(200_000))
            let reserved = try await change(contents, "other", content(200_000))
            guard case .putChunks(_, let head, let chunks) = reserved else { return #expect(Bool(false)) }
            #expect(
                await thrown(\StoreError.code) {
                    try await store.apply(
                        [.putChunks(ItemName(rawValue: "vault/refresh-token"), head: head, chunks)], to: alice)
                } == .reservedName)
            // The same chunks can be stored twice, because a transaction may have to be tried again.
            try await store.apply([reserved], to: alice)
            try await store.apply([reserved], to: alice)
            #expect(try await get(contents, "other") == content(200_000))
            // The item is small again, and the account is changed. The other data stays the same.
            try await set(contents, Self.notes, [1])
            try await store.apply([.putAccount(try #require(try await store.account(alice)))], to: alice)
            #expect(try await get(contents, Self.notes) == [1])
            #expect(try await get(contents, "other") == content(200_000))
        }
    }
}
