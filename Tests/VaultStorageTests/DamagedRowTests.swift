import Foundation
import GRDB
import TestSupport
import Testing
import VaultCrypto
import VaultSQLite
import VaultStorage
import VaultStorageTestSupport
import VaultTesting
import VaultUnlock

/// Damage in the database: it is reported as damage, costs no guess, and deletes no data.
@Suite struct DamagedRowTests {
    /// Every stored value that opening an account needs.
    static let columns: [(table: String, name: String)] =
        ["issuer", "subject", "client_id", "key_service_url", "device_secret", "checksum"].map { ("account", $0) }
        + [
            "id", "kind", "salt", "argon2_passes", "argon2_memory_kib", "argon2_lanes", "key_id", "protocol", "wrapped",
            "checksum",
        ].map { ("keyslot", $0) }

    @Test(arguments: columns)
    func `when an account's bit is flipped, then opening reports damage`(
        column: (table: String, name: String)
    ) async throws {
        try await withDatabase { folder, registry in
            try await registry.register("alice")
            let calls = registry.keyService.calls
            let original = try Raw.value(folder, column.table, column.name)
            for bit in Raw.bitsToFlip(of: original) {
                try Raw.set(folder, column.table, column.name, Raw.flipping(bit, of: original))
                let damaged = try Raw.everything(folder)
                // Four times, because a person tries again.
                for _ in 0..<4 {
                    let error = await #expect(throws: (any Error).self) { _ = try await registry.open("alice") }
                    let converted = error.map { VaultError.converting($0) } as? VaultError
                    #expect(converted?.code == .storeCorrupt, "bit \(bit)")
                }
                #expect(try Raw.everything(folder) == damaged)
            }
            #expect(registry.keyService.calls == calls)
            try Raw.set(folder, column.table, column.name, original)
            _ = try await registry.open("alice")
        }
    }

    @Test func `when a value is missing or mistyped, then reading fails`() async throws {
        try await withDatabase { folder, registry in
            try await registry.register("alice")
            let calls = registry.keyService.calls
            try Raw.dropRules(folder)
            let others = [DatabaseValue.null, "text".databaseValue, 2.5.databaseValue, Data([0xFF]).databaseValue]
            for column in Self.columns + [("account", "created_at"), ("keyslot", "created_at")] {
                let original = try Raw.value(folder, column.table, column.name)
                for value in column.name == "created_at" ? [.null] : others {
                    try Raw.set(folder, column.table, column.name, value)
                    let reads: [(SQLiteStore) async throws -> [Account]] = [
                        { try await $0.accounts() }, { try await $0.accounts(named: "alias-alice") },
                    ]
                    for read in reads {
                        let error = await #expect(throws: StoreError.self, "\(column) \(value)") {
                            let account = try await read(SQLiteStore(folder: folder)).first
                            // A damaged keyslot that can still be named must not block the account.
                            let isKept = column.table == "keyslot" && account?.damagedKeyslots.count == 1
                            if isKept && account?.keyslots == [] { throw StoreError(.corrupt, "kept") }
                        }
                        #expect(error?.code == .corrupt)
                        // A decoder's error would print the row, including the device secret.
                        #expect(error?.underlying == nil)
                    }
                }
                try Raw.set(folder, column.table, column.name, original)
            }
            try Raw.set(folder, "keyslot", "account_id", .null)
            #expect(await thrown(\StoreError.code) { _ = try await SQLiteStore(folder: folder).accounts() } == .corrupt)
            try Raw.set(folder, "keyslot", "account_id", 1.databaseValue)
            #expect(registry.keyService.calls == calls)
            _ = try await registry.open("alice")
        }
    }

    @Test(arguments: [ItemName.refreshToken, .accessToken, .idTokenClaims, ItemName(rawValue: "note")])
    func `when a sealed item's bit is flipped, then opening fails`(name: ItemName) async throws {
        try await withDatabase { folder, registry in
            let key = try await registry.register("alice")
            let id = AccountID(issuer: issuer, subject: "alice")
            let store = registry.accounts.store
            try await store.apply([.putItem(name, await key.seal([1, 2, 3], as: name, of: id))], to: id)
            let sealed = try #require(try await store.item(name, of: id))
            #expect(try await key.open(sealed, as: name, of: id) == [1, 2, 3])
            for bit in 0..<sealed.count * 8 {
                var changed = sealed
                changed[bit / 8] ^= 1 << (bit % 8)
                #expect(
                    await thrown(\StoreError.code) { _ = try await key.open(changed, as: name, of: id) } == .corrupt)
            }
            #expect(await thrown(\StoreError.code) { _ = try await key.open([], as: name, of: id) } == .corrupt)
        }
    }

    @Test func `when a keyslot's protection changes, then the keyslot is damaged`() async throws {
        try await withDatabase { folder, registry in
            let store = registry.accounts.store
            let id = Account.example("alice").id
            let slot = Keyslot(
                id: "t", kind: .pkcs11, salt: [], argon2: Argon2Parameters(passes: 0, memoryKiB: 0, lanes: 0),
                keyID: "key", keyServiceProtocol: 1, wrapped: [1], createdAt: Date(timeIntervalSince1970: 1),
                label: "YubiKey",
                lastUsedAt: Date(timeIntervalSince1970: 2), protection: [3, 4])
            try await store.apply([.putAccount(.example("alice")), .putKeyslot(slot)], to: id)
            try Raw.dropRules(folder)
            let original = try Raw.value(folder, "keyslot", "protection")
            let others = (0..<16).map { Raw.flipping($0, of: original) }
            for value in others + [.null, Data().databaseValue, "text".databaseValue, 7.databaseValue] {
                try Raw.set(folder, "keyslot", "protection", value)
                let read = try await SQLiteStore(folder: folder).account(id)
                #expect(read?.keyslots == [] && read?.damagedKeyslots.map(\.id) == ["t"], "\(value)")
            }
            try Raw.set(folder, "keyslot", "protection", original)
            for (column, value) in [("label", Data([0xFF]).databaseValue), ("last_used_at", "text".databaseValue)] {
                let original = try Raw.value(folder, "keyslot", column)
                try Raw.set(folder, "keyslot", column, value)
                let read = try await SQLiteStore(folder: folder).account(id)
                #expect(
                    read?.damagedKeyslots == [
                        DamagedKeyslot(id: "t", kind: .pkcs11, keyID: "key", keyServiceProtocol: 1)
                    ], "\(column)")
                try Raw.set(folder, "keyslot", column, original)
            }
            #expect(try await SQLiteStore(folder: folder).account(id)?.keyslots == [slot])
        }
    }

    @Test func `when keyslots of two accounts are swapped, then opening fails`() async throws {
        try await withDatabase { folder, registry in
            try await registry.register("alice")
            try await registry.register("bob")
            let calls = registry.keyService.calls
            try Raw.execute(folder, "UPDATE keyslot SET account_id = 3 - account_id")
            for name in ["alice", "bob"] {
                await #expect { _ = try await registry.open(name) } throws: {
                    ($0 as? VaultError)?.code == .storeCorrupt
                }
            }
            #expect(registry.keyService.calls == calls)
            try Raw.execute(folder, "UPDATE keyslot SET account_id = 3 - account_id")
            for name in ["alice", "bob"] { _ = try await registry.open(name) }
        }
    }

    /// A forger also corrects the checksums, which need no key. Then the key service's answer and the seals decide.
    @Test func `when a keyslot moves with its checksum, then opening fails`() async throws {
        try await withDatabase { folder, registry in
            try await registry.register("alice")
            try await registry.register("bob")
            let alice = try #require(try await registry.accounts.store.account(.init(issuer: issuer, subject: "alice")))
            let bob = try #require(try await registry.accounts.store.account(.init(issuer: issuer, subject: "bob")))
            let slot = try #require(alice.keyslots.first)
            let other = try #require(bob.keyslots.first)
            let store = registry.accounts.store
            // Alice's password opens her own slot, but not one that says it is Bob's.
            try await store.apply([.removeKeyslot(id: slot.id)], to: alice.id)
            try await store.apply([.removeKeyslot(id: other.id), .putKeyslot(slot)], to: bob.id)
            await #expect(throws: (any Error).self) {
                _ = try await registry.accounts.open(bob, with: .password(SecretBytes(utf8: "alice's password")))
            }
            try await store.apply([.removeKeyslot(id: slot.id)], to: bob.id)
            let mixed = Keyslot(
                id: slot.id, kind: slot.kind, salt: slot.salt, argon2: slot.argon2, keyID: slot.keyID,
                keyServiceProtocol: slot.keyServiceProtocol, wrapped: other.wrapped, createdAt: slot.createdAt)
            try await store.apply([.putKeyslot(mixed)], to: alice.id)
            await #expect {
                _ = try await registry.accounts.open(alice, with: .password(SecretBytes(utf8: "alice's password")))
            } throws: {
                ($0 as? VaultError)?.code == .storeCorrupt
            }
        }
    }

    @Test func `when a damaged keyslot is removed, then its key ends`() async throws {
        try await withDatabase { folder, registry in
            let key = try await registry.register("alice")
            let id = AccountID(issuer: issuer, subject: "alice")
            let account = try #require(try await registry.accounts.store.account(id))
            let pin = try await registry.accounts.addPIN(SecretBytes(utf8: "2846"), to: account, vaultKey: key)
            try Raw.execute(folder, "UPDATE keyslot SET salt = x'00' WHERE kind = 'pin'")
            #expect(registry.keyService.liveKeys.contains(pin.keyID))
            try await registry.accounts.removeKeyslot(pin.id, of: id)
            #expect(registry.keyService.liveKeys == Set(account.keyslots.map(\.keyID)))
        }
    }

    @Test func `when items swap accounts or names, then opening reports damage`() async throws {
        try await withDatabase { folder, registry in
            let keys = [try await registry.register("alice"), try await registry.register("bob")]
            let ids = ["alice", "bob"].map { AccountID(issuer: issuer, subject: $0) }
            let swaps = [
                "UPDATE item SET account_id = -account_id; UPDATE item SET account_id = 3 + account_id",
                """
                UPDATE item SET name = 'x' WHERE name = 'vault/refresh-token';
                UPDATE item SET name = 'vault/refresh-token' WHERE name = 'vault/access-token';
                UPDATE item SET name = 'vault/access-token' WHERE name = 'x'
                """,
            ]
            for swap in swaps {
                try Raw.execute(folder, swap)
                for (id, key) in zip(ids, keys) {
                    for name in [ItemName.refreshToken, .accessToken] {
                        let sealed = try #require(try await registry.accounts.store.item(name, of: id))
                        #expect(
                            await thrown(\StoreError.code) { _ = try await key.open(sealed, as: name, of: id) }
                                == .corrupt)
                    }
                }
                try Raw.execute(folder, swap)
            }
            let sealed = try #require(try await registry.accounts.store.item(.refreshToken, of: ids[0]))
            #expect(try await !keys[0].open(sealed, as: .refreshToken, of: ids[0]).isEmpty)
        }
    }

    private func withDatabase(_ body: (String, Registry) async throws -> Void) async throws {
        try await withTemporaryFolder { folder in
            try await body(folder, Registry(store: SQLiteStore(folder: folder)))
        }
    }
}
