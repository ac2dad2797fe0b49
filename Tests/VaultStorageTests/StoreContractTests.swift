import Foundation
import TestSupport
import Testing
import VaultBase
import VaultCrypto
import VaultStorage
import VaultStorageTestSupport
import VaultTesting
import VaultUnlock

/// The promises of ``SecureStore``, checked for every store.
@Suite struct StoreContractTests {
    private let alice = AccountID(issuer: issuer, subject: "alice")

    @Test(arguments: StoreKind.allCases)
    func `when an account is stored, then reading returns it unchanged`(kind: StoreKind) async throws {
        try await kind.withStore { store in
            var account = Account.example(
                "it's \"alice\"; --", alias: "Ålice 猫", email: "a@example.com", preferredUsername: "al")
            let slots = [Keyslot.example("1", createdAt: 1), .example("2", createdAt: 2)]
            try await store.apply([.putAccount(account)] + slots.map { .putKeyslot($0) }, to: account.id)
            account.keyslots = slots
            #expect(try await store.account(account.id) == account)
            #expect(try await store.accounts() == [account])
            #expect(try await store.accounts(named: "Ålice 猫") == [account])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `when a transaction fails, then its record stays unchanged`(kind: StoreKind) async throws {
        try await kind.withStore { store in
            func note() async throws -> [UInt8]? { try await store.withRecord("note") { $0 } }
            let write = StoreChange.changeRecord("note") { $0 = ($0 ?? []) + [1] }
            // This needs no account.
            try await store.apply([write], to: alice)
            #expect(try await note() == [1])
            try await store.apply([.putAccount(.example("alice")), write, .removeAccount], to: alice)
            #expect(try await note() == [1, 1], "it is of no account, and stays")
            #expect(
                await thrown(\StoreError.code) { try await store.apply([write, .endRefresh], to: alice) }
                    == .noSuchAccount)
            await #expect(throws: CancellationError.self) {
                try await store.apply(
                    [.putAccount(.example("alice")), .changeRecord("note") { _ in throw CancellationError() }],
                    to: alice)
            }
            #expect(try await note() == [1, 1])
            #expect(try await store.account(alice) == nil)
            try await store.apply([.changeRecord("note") { $0 = nil }], to: alice)
            #expect(try await note() == nil)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `when keyslots are staged, then their keys count as used`(kind: StoreKind) async throws {
        try await kind.withStore { store in
            try await store.apply(
                [.putAccount(.example("alice")), .putKeyslot(.example("1")), .stageKeyslot(.example("2"))], to: alice)
            for (key, isUsed) in [("key of 1", true), ("key of 2", true), ("key of 3", false), ("", false)] {
                #expect(try await store.usesKey(key) == isUsed, "\(key)")
            }
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `when the store is empty, then reads return nothing`(kind: StoreKind) async throws {
        try await kind.withStore { (store) async throws in
            #expect(try await store.accounts() == [])
            #expect(try await store.accounts(named: "alice") == [])
            #expect(try await store.account(alice) == nil)
            #expect(try await store.item(.refreshToken, of: alice) == nil)
            #expect(try await store.itemNames(of: alice) == [])
            #expect(try await store.stagedKeyslot(of: alice) == nil)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `when a whole name matches, then its account is found`(kind: StoreKind) async throws {
        try await kind.withStore { store in
            let people = [
                Account.example("1", alias: "home", email: "a@example.com", preferredUsername: "alice", createdAt: 1),
                .example("2", email: "b@example.com", preferredUsername: "bob", createdAt: 2),
                // The same subject at another issuer, and names of another account.
                .example("1", issuer: "https://other.example", email: "home", preferredUsername: "2", createdAt: 3),
            ]
            for person in people { try await store.apply([.putAccount(person)], to: person.id) }
            let expected = [
                "1": [0, 2], "2": [1, 2], "home": [0, 2], "a@example.com": [0], "alice": [0], "bob": [1],
                "b@example.com": [1], "ali": [], "ALICE": [], "": [], "%": [], "alice ": [], "' OR 1=1 --": [],
            ]
            for (name, indices) in expected {
                #expect(try await store.accounts(named: name) == indices.map { people[$0] }, "\(name)")
            }
            #expect(try await store.accounts() == people)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `when an alias is taken, then another account is refused`(kind: StoreKind) async throws {
        try await kind.withStore { store in
            var first = Account.example("1", alias: "me")
            var second = Account.example("2", alias: "me")
            try await store.apply([.putAccount(first)], to: first.id)
            #expect(
                await thrown(\StoreError.code) { try await store.apply([.putAccount(second)], to: second.id) }
                    == .aliasTaken)
            #expect(try await store.account(second.id) == nil)
            // An account may keep its name, or take a free one.
            first.email = "new@example.com"
            try await store.apply([.putAccount(first)], to: first.id)
            second.alias = nil
            try await store.apply([.putAccount(second)], to: second.id)
            second.alias = "me"
            #expect(
                await thrown(\StoreError.code) { try await store.apply([.putAccount(second)], to: second.id) }
                    == .aliasTaken)
            try await store.apply([.removeAccount], to: first.id)
            try await store.apply([.putAccount(second)], to: second.id)
            #expect(try await store.accounts(named: "me").map(\.id) == [second.id])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `when an account is stored again, then its keyslots stay`(kind: StoreKind) async throws {
        try await kind.withStore { store in
            let account = Account.example("alice", alias: "me")
            let mark = Date(timeIntervalSince1970: 1_800_000_001)
            try await store.apply(
                [
                    .putAccount(account), .putKeyslot(.example("1")), .stageKeyslot(.example("2")),
                    .putItem(.refreshToken, [1]), .beginRefresh(mark),
                ], to: alice)
            let changed = Account.example("alice", email: "new@example.com", clientID: "other")
            try await store.apply([.putAccount(changed)], to: alice)
            let stored = try #require(try await store.account(alice))
            #expect(stored.alias == nil && stored.email == "new@example.com" && stored.clientID == "other")
            #expect(stored.keyslots == [.example("1")])
            #expect(stored.refreshStartedAt == mark)
            #expect(try await store.stagedKeyslot(of: alice) == .example("2"))
            #expect(try await store.item(.refreshToken, of: alice) == [1])
            try await store.apply([.endRefresh], to: alice)
            #expect(try await store.account(alice)?.refreshStartedAt == nil)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `when a keyslot is renamed, then its label is stored`(kind: StoreKind) async throws {
        try await kind.withStore { store in
            var token = Keyslot(
                id: "t", kind: .pkcs11, salt: [], argon2: Argon2Parameters(passes: 0, memoryKiB: 0, lanes: 0),
                keyID: "key of t", keyServiceProtocol: 1, wrapped: [4], createdAt: Date(timeIntervalSince1970: 2),
                label: "YubiKey",
                lastUsedAt: Date(timeIntervalSince1970: 3), protection: [5, 6])
            let password = Keyslot.example("p", createdAt: 1)
            try await store.apply(
                [.putAccount(.example("alice")), .putKeyslot(password), .putKeyslot(token)], to: alice)
            #expect(try await store.account(alice)?.keyslots == [password, token])
            let used = Date(timeIntervalSince1970: 1_800_000_002)
            try await store.apply(
                [.renameKeyslot(id: "t", label: "the \"blue\" one; --"), .noteUse(ofKeyslot: "t", used)], to: alice)
            token.label = "the \"blue\" one; --"
            token.lastUsedAt = used
            #expect(try await store.account(alice)?.keyslots == [password, token])
            try await store.apply([.renameKeyslot(id: "t", label: nil)], to: alice)
            #expect(try await store.account(alice)?.keyslots.last?.label == nil)
            // A keyslot that was removed meanwhile is no error. Another account's keyslot stays the same.
            let bob = AccountID(issuer: issuer, subject: "bob")
            try await store.apply([.putAccount(.example("bob"))], to: bob)
            for id in ["gone", "p"] {
                try await store.apply([.renameKeyslot(id: id, label: "x"), .noteUse(ofKeyslot: id, used)], to: bob)
            }
            #expect(try await store.account(alice)?.keyslots.first == password)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `when a staged keyslot is activated, then its label stays`(kind: StoreKind) async throws {
        try await kind.withStore { store in
            let used = Date(timeIntervalSince1970: 1_800_000_002)
            try await store.apply(
                [
                    .putAccount(.example("alice")), .stageKeyslot(.example("1")),
                    .renameKeyslot(id: "1", label: "new"), .noteUse(ofKeyslot: "1", used), .activateKeyslot(id: "1"),
                ], to: alice)
            let slot = try #require(try await store.account(alice)?.keyslots.first)
            #expect(slot.label == "new" && slot.lastUsedAt == used)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `when an account changes, then its last online time stays`(kind: StoreKind) async throws {
        try await kind.withStore { store in
            let online = Date(timeIntervalSince1970: 1_800_000_003)
            try await store.apply([.putAccount(.example("alice"))], to: alice)
            #expect(try await store.account(alice)?.lastOnlineAt == nil)
            try await store.apply([.noteOnline(online)], to: alice)
            try await store.apply([.putAccount(.example("alice", alias: "me"))], to: alice)
            #expect(try await store.account(alice)?.lastOnlineAt == online)
            #expect(try await store.accounts().map(\.lastOnlineAt) == [online])
            try await store.apply([.removeAccount, .putAccount(.example("alice"))], to: alice)
            #expect(try await store.account(alice)?.lastOnlineAt == nil)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `when an account changes, then its displayed claims stay`(kind: StoreKind) async throws {
        try await kind.withStore { store in
            let end = Date(timeIntervalSince1970: 1_800_000_004)
            let claims = ["name": "Ålice \"A\" 猫", "team": ""]
            try await store.apply(
                [
                    .putAccount(.example("alice")),
                    .noteTokens(scope: "openid mail", type: "DPoP", accessTokenExpiresAt: end),
                    .putDisplayClaims(claims), .putItem(.accessToken, [1]),
                ], to: alice)
            try await store.apply([.putAccount(.example("alice", alias: "me")), .removeItem(.refreshToken)], to: alice)
            var account = try #require(try await store.accounts().first)
            #expect(account.grantedScope == "openid mail" && account.accessTokenExpiresAt == end)
            #expect(account.accessTokenType == "DPoP" && account.hasBoundTokens)
            #expect(account.displayClaims == claims && account.alias == "me")
            // When the access token is removed, its end is removed, too.
            try await store.apply([.removeItem(.accessToken), .putDisplayClaims([:])], to: alice)
            account = try #require(try await store.account(alice))
            #expect(account.grantedScope == "openid mail" && account.accessTokenExpiresAt == nil)
            #expect(account.displayClaims == [:])
            try await store.apply(
                [.noteTokens(scope: nil, type: nil, accessTokenExpiresAt: nil), .putDisplayClaims(claims)], to: alice)
            account = try #require(try await store.account(alice))
            #expect(account.grantedScope == nil && account.accessTokenType == nil && !account.hasBoundTokens)
            try await store.apply([.removeAccount, .putAccount(.example("alice"))], to: alice)
            #expect(try await store.account(alice) == .example("alice"))
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `when the refresh token changes, then its refusal is forgotten`(kind: StoreKind) async throws {
        try await kind.withStore { store in
            let time = Date(timeIntervalSince1970: 1_800_000_005)
            try await store.apply([.putAccount(.example("alice")), .putItem(.refreshToken, [1])], to: alice)
            for change in [StoreChange.putItem(.refreshToken, [2]), .removeItem(.refreshToken)] {
                try await store.apply([.endRefresh, .removeItem(.accessToken), .noteRefusal(time)], to: alice)
                // Nothing else removes it.
                try await store.apply(
                    [
                        .putAccount(.example("alice", alias: "me")), .putItem(.accessToken, [3]), .noteOnline(time),
                        .beginRefresh(time), .endRefresh, .resealItems { $1 },
                    ], to: alice)
                #expect(try await store.account(alice)?.refusedAt == time)
                #expect(try await store.accounts().map(\.refusedAt) == [time])
                try await store.apply([change], to: alice)
                #expect(try await store.account(alice)?.refusedAt == nil)
            }
            try await store.apply([.noteRefusal(time)], to: alice)
            try await store.apply([.removeAccount, .putAccount(.example("alice"))], to: alice)
            #expect(try await store.account(alice)?.refusedAt == nil)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `when one change fails, then no change is stored`(kind: StoreKind) async throws {
        try await kind.withStore { store in
            let account = Account.example("alice")
            let impossible = StoreChange.activateKeyslot(id: "never staged")
            #expect(
                await thrown(\StoreError.code) {
                    try await store.apply(
                        [.putAccount(account), .putKeyslot(.example("1")), .putItem(.refreshToken, [1]), impossible],
                        to: alice)
                } == .noSuchAccount)
            #expect(try await store.accounts() == [])

            try await store.apply(
                [.putAccount(account), .putKeyslot(.example("1")), .putItem(.refreshToken, [1])], to: alice)
            let before = try await store.account(alice)
            await #expect(throws: StoreError.self) {
                try await store.apply(
                    [
                        .removeKeyslot(id: "1"), .putItem(.refreshToken, [2]), .putItem(.accessToken, [3]),
                        .beginRefresh(Date()), .stageKeyslot(.example("2")), impossible,
                    ], to: alice)
            }
            await #expect(throws: StoreError.self) {
                try await store.apply([.removeAccount, .putItem(.refreshToken, [2])], to: alice)
            }
            #expect(try await store.account(alice) == before)
            #expect(try await store.stagedKeyslot(of: alice) == nil)
            #expect(try await store.itemNames(of: alice) == [.refreshToken])
            #expect(try await store.item(.refreshToken, of: alice) == [1])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `when an account is missing, then no change is accepted`(kind: StoreKind) async throws {
        try await kind.withStore { (store) async throws in
            let changes: [StoreChange] = [
                .removeAccount, .putKeyslot(.example("1")), .stageKeyslot(.example("1")), .activateKeyslot(id: "1"),
                .removeKeyslot(id: "1"), .putItem(.accessToken, []), .removeItem(.accessToken),
                .beginRefresh(Date()), .endRefresh, .renameKeyslot(id: "1", label: "x"),
                .noteUse(ofKeyslot: "1", Date()), .noteOnline(Date()), .putDisplayClaims([:]),
                .noteTokens(scope: nil, type: nil, accessTokenExpiresAt: nil), .noteRefusal(Date()),
            ]
            for change in changes {
                #expect(await thrown(\StoreError.code) { try await store.apply([change], to: alice) } == .noSuchAccount)
            }
            #expect(try await store.accounts() == [])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `when a keyslot is staged, then the account omits it`(kind: StoreKind) async throws {
        try await kind.withStore { store in
            try await store.apply([.putAccount(.example("alice")), .putKeyslot(.example("old"))], to: alice)
            try await store.apply([.stageKeyslot(.example("first"))], to: alice)
            try await store.apply([.stageKeyslot(.example("second"))], to: alice)
            #expect(try await store.stagedKeyslot(of: alice) == .example("second"))
            for account in try await [
                store.account(alice), store.accounts().first, store.accounts(named: "alice").first,
            ] {
                #expect(account?.keyslots == [.example("old")])
            }
            // The first was replaced, so it can never become active.
            #expect(
                await thrown(\StoreError.code) { try await store.apply([.activateKeyslot(id: "first")], to: alice) }
                    == .noSuchAccount)
            try await store.apply([.removeKeyslot(id: "old"), .activateKeyslot(id: "second")], to: alice)
            #expect(try await store.account(alice)?.keyslots == [.example("second")])
            #expect(try await store.stagedKeyslot(of: alice) == nil)
            try await store.apply([.stageKeyslot(.example("third")), .removeKeyslot(id: "third")], to: alice)
            #expect(try await store.stagedKeyslot(of: alice) == nil)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `when a removed account returns, then old data stays gone`(kind: StoreKind) async throws {
        try await kind.withStore { store in
            let bob = Account.example("bob")
            try await store.apply([.putAccount(bob), .putItem(.refreshToken, [9])], to: bob.id)
            try await store.apply(
                [
                    .putAccount(.example("alice")), .putKeyslot(.example("1")), .stageKeyslot(.example("2")),
                    .putItem(.refreshToken, [1]), .beginRefresh(Date()),
                ], to: alice)
            try await store.apply([.removeAccount], to: alice)
            #expect(try await store.account(alice) == nil)
            #expect(try await store.item(.refreshToken, of: alice) == nil)
            try await store.apply([.putAccount(.example("alice"))], to: alice)
            #expect(try await store.account(alice) == .example("alice"))
            #expect(try await store.stagedKeyslot(of: alice) == nil)
            #expect(try await store.itemNames(of: alice) == [])
            #expect(try await store.item(.refreshToken, of: bob.id) == [9])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `when an item is stored, then its name finds it`(kind: StoreKind) async throws {
        try await kind.withStore { store in
            let large = [UInt8](repeating: 0xA5, count: 1 << 20)
            let note = ItemName(rawValue: "notes/größe")
            try await store.apply([.putAccount(.example("alice")), .putItem(note, [1])], to: alice)
            try await store.apply([.putItem(note, large), .putItem(ItemName(rawValue: "a"), [])], to: alice)
            #expect(try await store.item(note, of: alice) == large)
            #expect(try await store.item(ItemName(rawValue: "a"), of: alice) == [])
            #expect(try await store.itemNames(of: alice).map(\.rawValue) == ["a", "notes/größe"])
            try await store.apply([.removeItem(note), .removeItem(.accessToken)], to: alice)
            #expect(try await store.item(note, of: alice) == nil)
            try await store.apply([.removeItem(ItemName(rawValue: "a"))], to: alice)
            #expect(try await store.itemNames(of: alice) == [])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `when twenty tasks lock an account, then no change disappears`(kind: StoreKind) async throws {
        try await kind.withStore { store in
            try await store.apply([.putAccount(.example("alice")), .putItem(.accessToken, [0])], to: alice)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<20 {
                    group.addTask {
                        try await store.withLock(on: alice) { _ in
                            let count = try await store.item(.accessToken, of: alice)?.first ?? 0
                            await Task.yield()
                            try await store.apply([.putItem(.accessToken, [count + 1])], to: alice)
                        }
                    }
                }
                try await group.waitForAll()
            }
            #expect(try await store.item(.accessToken, of: alice) == [20])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `when a lock's closure throws, then the lock is free`(kind: StoreKind) async throws {
        struct Failure: Error {}
        try await kind.withStore { store in
            let bob = AccountID(issuer: issuer, subject: "bob")
            await #expect(throws: Failure.self) { try await store.withLock(on: alice) { _ in throw Failure() } }
            let both = try await store.withLock(on: alice) { _ in try await store.withLock(on: bob) { _ in true } }
            #expect(both)
        }
    }

    /// Asks for locks, each while it holds the earlier ones.
    private func take(_ ids: ArraySlice<AccountID>, of store: any SecureStore) async throws {
        guard let first = ids.first else { return }
        try await store.withLock(on: first) { _ in try await take(ids.dropFirst(), of: store) }
    }

    @Test(.timeLimit(.minutes(1)), arguments: StoreKind.allCases)
    func `when a task locks an account twice, then locking fails`(kind: StoreKind) async throws {
        let bob = AccountID(issuer: issuer, subject: "bob")
        try await kind.withStore { store in
            let began = ContinuousClock.now
            #expect(await thrown(\StoreError.code) { try await take([alice, alice], of: store) } == .alreadyLocked)
            #expect(
                await thrown(\StoreError.code) { try await take([alice, bob, alice], of: store) } == .alreadyLocked)
            #expect(ContinuousClock.now - began < .seconds(5))
            // Both locks are free afterwards.
            try await take([bob, alice], of: store)
        }
    }

    @Test(.timeLimit(.minutes(1)), arguments: StoreKind.allCases)
    func `when a closure starts a task, then that task waits`(kind: StoreKind) async throws {
        try await kind.withStore { store in
            try await store.apply([.putAccount(.example("alice")), .putItem(.accessToken, [0])], to: alice)
            let waiter = try await store.withLock(on: alice) { _ in
                let waiter = Task {
                    try await store.withLock(on: alice) { _ in try await store.item(.accessToken, of: alice) }
                }
                try await Task.sleep(for: .milliseconds(20))
                try await store.apply([.putItem(.accessToken, [1])], to: alice)
                return waiter
            }
            #expect(try await waiter.value == [1])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `when a lock outlives its closure, then new requests fail`(kind: StoreKind) async throws {
        struct Failure: Error {}
        let kept = Lock<AccountLock?>(nil)
        try await kind.withStore(clock: HastyClock()) { (store) async throws in
            for fails in [false, true] {
                try? await store.withLock(on: alice) { lock in
                    kept.withLock { $0 = lock }
                    if fails { throw Failure() }
                }
                for _ in 0..<2 {
                    #expect(await thrown(\StoreError.code) { try await store.withLock(on: alice) { _ in } } == .busy)
                }
                #expect(try await store.withLock(on: AccountID(issuer: issuer, subject: "bob")) { _ in true })
                kept.withLock { $0 = nil }
                #expect(try await store.withLock(on: alice) { _ in true })
            }
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `when a lock outlives its closure, then earlier waiters fail`(kind: StoreKind) async throws {
        let kept = Lock<AccountLock?>(nil)
        try await kind.withStore(clock: HastyClock()) { (store) async throws in
            let waiter = try await store.withLock(on: alice) { lock in
                kept.withLock { $0 = lock }
                let waiter = Task { try await store.withLock(on: alice) { _ in } }
                for _ in 0..<10 { await Task.yield() }
                return waiter
            }
            #expect(await thrown(\StoreError.code) { try await waiter.value } == .busy)
            kept.withLock { $0 = nil }
            #expect(try await store.withLock(on: alice) { _ in true })
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `when writability is checked, then the store stays empty`(kind: StoreKind) async throws {
        try await kind.withStore { store in
            try await store.checkWritable()
            #expect(try await store.accounts() == [])
        }
    }
}

/// Records that belong to no account.
@Suite struct RecordTests {
    @Test(arguments: StoreKind.allCases)
    func `when a record change throws, then the record stays`(kind: StoreKind) async throws {
        try await kind.withStore { store in
            struct Failure: Error {}
            #expect(try await store.withRecord("a") { $0 } == nil)
            try await store.withRecord("a") { $0 = [1] }
            try await store.withRecord("b") { $0 = [2] }
            await #expect(throws: Failure.self) {
                try await store.withRecord("a") { bytes in
                    bytes = [9]
                    throw Failure()
                }
            }
            #expect(try await store.withRecord("a") { $0 } == [1])
            try await store.withRecord("a") { $0 = nil }
            #expect(try await store.withRecord("a") { $0 } == nil)
            #expect(try await store.withRecord("b") { $0 } == [2])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `when tasks change one record, then no change is lost`(kind: StoreKind) async throws {
        try await kind.withStore { store in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<100 {
                    group.addTask { try await store.withRecord("count") { $0 = [($0?.first ?? 0) + 1] } }
                }
                try await group.waitForAll()
            }
            #expect(try await store.withRecord("count") { $0 } == [100])
        }
    }
}
