import GRDB
import TestSupport
import Testing
import VaultSQLite
import VaultStorage
import VaultStorageTestSupport
import VaultTesting
import VaultUnlock

/// The texts that apps store with an account in the clear, in every store.
@Suite struct UnsealedMetadataTests {
    private let alice = AccountID(issuer: issuer, subject: "alice")

    @Test(arguments: StoreKind.allCases)
    func `when metadata changes, then every read has it`(kind: StoreKind) async throws {
        try await kind.withStore { store in
            let changes: [StoreChange] = [
                .putAccount(.example("alice")),
                .changeUnsealedMetadata { $0 = ["desk.ward": "Ålice's \"4\" 猫", "empty": ""] },
            ]
            try await store.apply(changes, to: alice)
            #expect(try await store.account(alice)?.unsealedMetadata == ["desk.ward": "Ålice's \"4\" 猫", "empty": ""])
            // A new form of the account keeps it.
            try await store.apply(
                [.changeUnsealedMetadata { $0["desk.ward"] = "5" }, .putAccount(.example("alice", alias: "me"))],
                to: alice)
            let expected = ["desk.ward": "5", "empty": ""]
            #expect(try await store.accounts().map(\.unsealedMetadata) == [expected])
            #expect(try await store.accounts(named: "me").map(\.unsealedMetadata) == [expected])
            // A change that fails changes nothing.
            await #expect(throws: CancellationError.self) {
                try await store.apply(
                    [
                        .changeUnsealedMetadata {
                            $0 = [:]
                            throw CancellationError()
                        }
                    ], to: alice)
            }
            #expect(try await store.account(alice)?.unsealedMetadata == expected)
            try await store.apply([.changeUnsealedMetadata { $0 = [:] }], to: alice)
            #expect(try await store.account(alice) == .example("alice", alias: "me"))
            try await store.apply(
                [.changeUnsealedMetadata { $0 = expected }, .removeAccount, .putAccount(.example("alice"))], to: alice)
            #expect(try await store.account(alice) == .example("alice"))
        }
    }

    @Test func `when stored metadata is damaged, then the account still opens`() async throws {
        try await withTemporaryFolder { folder in
            let registry = Registry(store: try SQLiteStore(folder: folder))
            try await registry.register("alice")
            let store = registry.accounts.store
            try await store.apply([.changeUnsealedMetadata { $0["desk.ward"] = "4" }], to: alice)
            try Raw.dropRules(folder)
            for column in ["metadata", "metadata_checksum"] {
                let original = try Raw.value(folder, "account", column)
                let flipped = Raw.bitsToFlip(of: original).map { Raw.flipping($0, of: original) }
                for value in flipped + [.null, 7.databaseValue] {
                    try Raw.set(folder, "account", column, value)
                    let read = try #require(try await SQLiteStore(folder: folder).account(alice))
                    #expect(read.unsealedMetadata == nil, "\(column) \(value)")
                    _ = try await registry.open("alice")
                }
                try Raw.set(folder, "account", column, original)
                #expect(try await store.account(alice)?.unsealedMetadata == ["desk.ward": "4"])
            }
            // The next change begins again.
            try Raw.set(folder, "account", "metadata", "text".databaseValue)
            try await store.apply([.changeUnsealedMetadata { $0["desk.bed"] = "2" }], to: alice)
            #expect(try await store.account(alice)?.unsealedMetadata == ["desk.bed": "2"])
        }
    }
}
