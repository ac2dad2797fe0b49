import Foundation
import GRDB
import Testing
import VaultSQLite
import VaultStorage
import VaultStorageTestSupport
import VaultTesting

/// The stored layout of an account's backend.
@Suite struct StoredLayoutTests {
    private static let layout = StoredLayout.json(Array(#"{"browser":{"me":"/who"}}"#.utf8))

    private func account() -> Account {
        var account = Account.example("alice", alias: "home")
        account.layout = Self.layout
        return account
    }

    @Test(arguments: StoreKind.allCases)
    func `when an account's layout changes, then the store replaces it`(kind: StoreKind) async throws {
        try await kind.withStore { store in
            var account = account()
            try await store.apply([.putAccount(account)], to: account.id)
            #expect(try await store.accounts() == [account])
            #expect(try await store.accounts(named: "home") == [account])
            for layout in [StoredLayout.json([1, 2, 3]), .json([]), nil] {
                account.layout = layout
                try await store.apply([.putAccount(account)], to: account.id)
                #expect(try await store.account(account.id)?.layout == layout)
            }
        }
    }

    @Test func `when a layout is damaged, then its account still loads`() async throws {
        try await withTemporaryFolder { folder in
            let account = account()
            try await SQLiteStore(folder: folder).apply([.putAccount(account)], to: account.id)
            for column in ["layout", "layout_checksum"] {
                let original = try Raw.value(folder, "account", column)
                var damages = Raw.bitsToFlip(of: original).map { Raw.flipping($0, of: original) }
                damages += [.null, Data().databaseValue]
                for damage in damages {
                    try Raw.set(folder, "account", column, damage)
                    let store = try SQLiteStore(folder: folder)
                    let found = try #require(try await store.accounts(named: "home").first)
                    #expect(found.layout == .damaged)
                    #expect(found.alias == "home" && found.deviceSecret == account.deviceSecret)
                    // A later write of the account keeps the layout visible.
                    try await store.apply([.putAccount(found)], to: account.id)
                    #expect(try Raw.value(folder, "account", column) == damage)
                }
                try Raw.set(folder, "account", column, original)
            }
            try Raw.dropRules(folder)
            for damage in ["text".databaseValue, 2.5.databaseValue] {
                try Raw.set(folder, "account", "layout", damage)
                #expect(try await SQLiteStore(folder: folder).account(account.id)?.layout == .damaged)
            }
            let store = try SQLiteStore(folder: folder)
            try await store.apply([.removeAccount], to: account.id)
            #expect(try await store.accounts().isEmpty)
        }
    }

    @Test func `when another account's layout is stored, then damage is reported`() async throws {
        try await withTemporaryFolder { folder in
            let (alice, bob) = (account(), Account.example("bob"))
            try await SQLiteStore(folder: folder).apply([.putAccount(alice)], to: alice.id)
            try await SQLiteStore(folder: folder).apply([.putAccount(bob)], to: bob.id)
            try Raw.execute(
                folder,
                """
                UPDATE account SET (layout, layout_checksum) =
                    (SELECT layout, layout_checksum FROM account WHERE subject = 'alice') WHERE subject = 'bob'
                """)
            let store = try SQLiteStore(folder: folder)
            #expect(try await store.account(bob.id)?.layout == .damaged)
            #expect(try await store.account(alice.id)?.layout == Self.layout)
        }
    }
}
