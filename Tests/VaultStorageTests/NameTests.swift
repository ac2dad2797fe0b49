import Foundation
import TestSupport
import Testing
import VaultSQLite
import VaultStorage
import VaultStorageTestSupport
import VaultTesting

/// Names that belong to somebody else or to the vault.
@Suite struct NameTests {
    @Test(arguments: StoreKind.allCases, ["bob", "bob@example.com", "bobby", "b"])
    func `when an alias is another account's name, then storing fails`(kind: StoreKind, alias: String) async throws {
        try await kind.withStore { store in
            let bob = Account.example("bob", alias: "b", email: "bob@example.com", preferredUsername: "bobby")
            try await store.apply([.putAccount(bob)], to: bob.id)
            var alice = Account.example("alice", alias: alias)
            #expect(
                await thrown(\StoreError.code) { try await store.apply([.putAccount(alice)], to: alice.id) }
                    == .aliasTaken)
            #expect(try await store.accounts().map(\.id) == [bob.id])
            alice.alias = "a"
            try await store.apply([.putAccount(alice)], to: alice.id)
            alice.alias = alias
            #expect(
                await thrown(\StoreError.code) { try await store.apply([.putAccount(alice)], to: alice.id) }
                    == .aliasTaken)
            #expect(try await store.account(alice.id)?.alias == "a")
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `when a later username equals an alias, then updates succeed`(kind: StoreKind) async throws {
        try await kind.withStore { store in
            var alice = Account.example("alice", alias: "alice")
            try await store.apply([.putAccount(alice)], to: alice.id)
            let other = Account.example("2", preferredUsername: "alice")
            try await store.apply([.putAccount(other)], to: other.id)
            alice.email = "new@example.com"
            try await store.apply([.putAccount(alice)], to: alice.id)
            let stored = try await store.account(alice.id)
            #expect(stored?.email == "new@example.com" && stored?.alias == "alice")
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `when an account is replaced, then it keeps its alias`(kind: StoreKind) async throws {
        try await kind.withStore { store in
            let alice = Account.example("alice", alias: "work")
            try await store.apply([.putAccount(alice)], to: alice.id)
            let other = Account.example("2", preferredUsername: "work")
            try await store.apply([.putAccount(other)], to: other.id)
            try await store.apply([.removeAccount, .putAccount(alice)], to: alice.id)
            #expect(try await store.account(alice.id)?.alias == "work")
        }
    }

    @Test func `when three programs claim one alias, then only one succeeds`() async throws {
        try await withTemporaryFolder { folder in
            for round in 0..<20 {
                let name = "name \(round)"
                let people = [
                    Account.example("a\(round)", alias: name), Account.example("b\(round)", alias: name),
                    Account.example("c\(round)", alias: name),
                ]
                let results = try await withThrowingTaskGroup(of: Bool.self) { group in
                    for person in people {
                        group.addTask {
                            let store = try SQLiteStore(folder: folder)
                            do {
                                try await store.apply([.putAccount(person)], to: person.id)
                                return true
                            } catch let error as StoreError where error.code == .aliasTaken {
                                return false
                            }
                        }
                    }
                    return try await group.reduce(into: []) { $0.append($1) }
                }
                #expect(results.count { $0 } == 1)
                #expect(try await SQLiteStore(folder: folder).accounts(named: name).count == 1)
            }
        }
    }

    @Test(arguments: ["vault/refresh-token", "vault/", "vault/x", "vault/\u{338}x"], StoreKind.allCases)
    func `when an app uses a reserved name, then storing fails`(name: String, kind: StoreKind) async throws {
        try await kind.withStore { store in
            let account = Account.example("alice")
            try await store.apply([.putAccount(account), .putItem(.refreshToken, [1])], to: account.id)
            let item = ItemName(rawValue: name)
            #expect(item.isReserved)
            for change in [StoreChange.putItem(item, [2]), .removeItem(item)] {
                #expect(
                    await thrown(\StoreError.code) { try await store.apply([change], to: account.id) } == .reservedName)
            }
            let key = try VaultKey.random()
            #expect(
                await thrown(\StoreError.code) { _ = try await key.seal([1], as: item, of: account.id) }
                    == .reservedName)
            #expect(try await store.itemNames(of: account.id) == [.refreshToken])
            #expect(try await store.item(.refreshToken, of: account.id) == [1])
            // The vault itself can still use the name.
            _ = try await key.seal([1], as: .refreshToken, of: account.id)
            try await store.apply([.putItem(.refreshToken, [3]), .removeItem(.refreshToken)], to: account.id)
        }
    }

    @Test(arguments: ["vaults/x", "Vault/x", "vault", "my/vault/x"])
    func `when a name only resembles reserved ones, then storing works`(name: String) async throws {
        let account = Account.example("alice")
        let store = InMemoryStore()
        try await store.apply(
            [.putAccount(account), .putItem(ItemName(rawValue: name), [1])], to: account.id)
        #expect(try await store.item(ItemName(rawValue: name), of: account.id) == [1])
    }
}
