import Foundation
import KeyServiceClient
import Testing
import VaultBiometric
import VaultCrypto
import VaultSQLite
import VaultStorage
import VaultStorageTestSupport
import VaultTesting
import VaultUnlock

/// Making and ending keyslots of protocol version 2.
@Suite(.timeLimit(.minutes(2))) struct OPRFChangesTests {
    /// An account with a password, a PIN, a recovery code and a token.
    private func withAllMethods(
        _ fixture: OPRFFixture
    ) async throws -> (vaultKey: VaultKey, code: SharedSecret, token: UnlockMethod) {
        let vaultKey = try await fixture.register()
        let account = try await fixture.account()
        try await fixture.accounts.addPIN(SecretBytes(utf8: "8068"), to: account, vaultKey: vaultKey)
        let (code, slot) = try await fixture.accounts.makeRecoveryKeyslot(for: account, vaultKey: vaultKey)
        try await fixture.accounts.add(slot, to: account, vaultKey: vaultKey)
        let hardware = try ScriptedHardwareKey(pin: "123456")
        try await fixture.accounts.addHardware(
            hardware, prompt: ScriptedPrompt("123456"), to: account, vaultKey: vaultKey)
        return (vaultKey, code, .hardware(hardware, ScriptedPrompt("123456", "123456", "123456", "123456")))
    }

    @Test(arguments: StoreKind.allCases)
    func `when an account has four unlock methods, then each opens`(kind: StoreKind) async throws {
        try await kind.withStore { store in
            let fixture = OPRFFixture(store: store)
            let (vaultKey, code, token) = try await withAllMethods(fixture)
            let account = try await fixture.account()
            #expect(account.keyslots.count == 4)
            for slot in account.keyslots {
                #expect(slot.keyServiceProtocol == 2 && slot.check.count == 32)
                #expect((slot.endSignature.count == 64) == ["password", "pin"].contains(slot.kind.rawValue))
            }
            let methods: [UnlockMethod] = [
                .password(SharedSecret(try SecretBytes(utf8: OPRFFixture.password))),
                try .pin(SecretBytes(utf8: "8068")), .recoveryCode(code), token,
            ]
            for method in methods {
                #expect(try await fixture.accounts.open(account, with: method).isEqual(to: vaultKey))
            }
            await fixture.accounts.finishConfirming()
            #expect(fixture.service.liveKeys == (try await fixture.keys()))
            #expect(try await RetiredKeys(store: store).all() == [])
            #expect(fixture.first.calls == 0)
        }
    }

    // Row: a recovery code
    // Row: hardware
    @Test func `when a thief guesses recovery codes, then no guess counts`() async throws {
        let fixture = OPRFFixture()
        _ = try await withAllMethods(fixture)
        let thief = try await fixture.thief()
        let key = try await fixture.slot(.recovery).keyID
        for _ in 0..<5 {
            let code = SharedSecret(try RecoveryCode.random())
            #expect(await thief.failure { try await thief.login(with: .recoveryCode(code)) } == .wrongSecret)
        }
        #expect(fixture.service.openGuesses(of: key) == 0)
        // The stored signature is sealed, so it ends nothing.
        let sealed = try await fixture.slot(.recovery).endSignature
        await #expect(throws: KeyServiceError.self) { try await fixture.service.endKey(id: key, signature: sealed) }
    }

    @Test func `when unlock methods get new secrets, then old keys end`() async throws {
        let fixture = OPRFFixture()
        let (vaultKey, _, _) = try await withAllMethods(fixture)
        let before = try await fixture.keys()
        try await fixture.accounts.setPassword(
            SecretBytes(utf8: "a new one for tea"), of: fixture.account(), vaultKey: vaultKey)
        try await fixture.accounts.addPIN(SecretBytes(utf8: "7391"), to: fixture.account(), vaultKey: vaultKey)
        let (_, slot) = try await fixture.accounts.makeRecoveryKeyslot(for: fixture.account(), vaultKey: vaultKey)
        try await fixture.accounts.add(slot, to: fixture.account(), vaultKey: vaultKey)
        let after = try await fixture.keys()
        #expect(after.count == 4 && after.intersection(before).count == 1)
        #expect(fixture.service.liveKeys == after)
        #expect(await fixture.accounts.retiredKeys() == [])
        try await fixture.login("a new one for tea")
    }

    @Test func `when a recovery code opens, then removed keyslots' keys end`() async throws {
        let fixture = OPRFFixture()
        let (_, code, _) = try await withAllMethods(fixture)
        let account = try await fixture.account()
        let gone = [try await fixture.slot(), try #require(account.keyslots.first { $0.kind.isHardware })]
        for slot in gone { try await fixture.accounts.removeKeyslot(slot.id, of: account.id) }
        // The signature of hardware is sealed, and nobody was logged in. The person is told, and the next login ends
        // it.
        #expect(fixture.told.notices.map(\.code) == [.keyNotEnded])
        #expect(fixture.service.liveKeys.contains(gone[1].keyID) && !fixture.service.liveKeys.contains(gone[0].keyID))
        try await fixture.restarted().login(with: .recoveryCode(code))
        #expect(fixture.service.liveKeys == (try await fixture.keys()))
        #expect(await fixture.accounts.retiredKeys() == [])
    }

    @Test(arguments: [true, false])
    func `when an account is deleted, then every unsealed key ends`(isOpen: Bool) async throws {
        let fixture = OPRFFixture()
        let (vaultKey, _, _) = try await withAllMethods(fixture)
        try await fixture.accounts.delete(fixture.account().id, vaultKey: isOpen ? vaultKey : nil)
        #expect(fixture.service.liveKeys.count == (isOpen ? 0 : 2))
        #expect(fixture.told.notices.count == (isOpen ? 0 : 2), "what cannot be ended is told")
        #expect(try await RetiredKeys(store: fixture.store).all() == [])
    }

    /// How the account goes, after its recovery code was removed without a login.
    enum Departure: CaseIterable {
        case deletedOpen, deleted, registeredAgain
    }

    @Test(arguments: Departure.allCases)
    func `when an account goes, then no key waits for its login`(departure: Departure) async throws {
        let fixture = OPRFFixture()
        let (vaultKey, _, _) = try await withAllMethods(fixture)
        let account = try await fixture.account()
        let removed = account.keyslots.filter { !$0.kind.isGuessable }
        for slot in removed { try await fixture.accounts.removeKeyslot(slot.id, of: account.id) }
        let keys = Set(removed.map(\.keyID))
        #expect(Set(try await RetiredKeys(store: fixture.store).all().map(\.id)) == keys && keys.count == 2)
        let before = fixture.told.notices.count
        switch departure {
        case .deletedOpen: try await fixture.accounts.delete(account.id, vaultKey: vaultKey)
        case .deleted: try await fixture.accounts.delete(account.id)
        case .registeredAgain: try await fixture.register(replacingItems: true)
        }
        #expect(try await RetiredKeys(store: fixture.store).all() == [])
        let told = fixture.told.notices.dropFirst(before)
        let isOpen = departure == .deletedOpen
        #expect(Set(told.compactMap(\.keyID)) == (isOpen ? [] : keys), "the person learns which keys stay")
        #expect(told.allSatisfy { $0.end == .never } && Set(told.map(\.keyslot)).count == told.count)
        #expect(fixture.service.liveKeys.isSuperset(of: keys) == !isOpen)
    }

    @Test func `when another account goes, then a key that a login can end stays listed`() async throws {
        let fixture = OPRFFixture()
        let (vaultKey, _, _) = try await withAllMethods(fixture)
        let account = try await fixture.account()
        let hardware = try #require(account.keyslots.first { $0.kind.isHardware })
        try await fixture.accounts.removeKeyslot(hardware.id, of: account.id)
        let bob = Account.example("bob")
        try await fixture.store.apply([.putAccount(bob)], to: bob.id)
        try await fixture.accounts.delete(bob.id)
        #expect(try await RetiredKeys(store: fixture.store).all().map(\.id) == [hardware.keyID])
        // A new keyslot may still be on its way.
        let (_, slot) = try await fixture.accounts.makeRecoveryKeyslot(for: account, vaultKey: vaultKey)
        try await fixture.accounts.delete(account.id)
        #expect(try await RetiredKeys(store: fixture.store).all().map(\.id) == [slot.keyID])
    }

    @Test func `when ending keys fails, then the next login ends them`() async throws {
        let fixture = OPRFFixture()
        let (vaultKey, _, _) = try await withAllMethods(fixture)
        let away = fixture.restarted { UnendingService(base: $0) }
        try await away.accounts.setPassword(
            SecretBytes(utf8: "a new one for tea"), of: fixture.account(), vaultKey: vaultKey, dropsOtherMethods: true)
        #expect(fixture.service.liveKeys.count == 5)
        #expect(away.told.notices.count == 4)
        try await fixture.login("a new one for tea")
        #expect(fixture.service.liveKeys == (try await fixture.keys()))
        #expect(await fixture.accounts.retiredKeys() == [])
    }

    // MARK: - Crashes

    /// The calls: 1 creates the key, 2 confirms it. With 3 the program lives.
    @Test(arguments: [1, 2, 3], [true, false])
    func `when a program dies creating keys, then no orphan survives`(call: Int, arrives: Bool) async throws {
        let fixture = OPRFFixture()
        let vaultKey = try await fixture.register()
        let account = try await fixture.account()
        let service = DyingService(base: fixture.service, call: call, arrives: arrives)
        let dying = fixture.restarted { _ in service }
        let task = Task {
            try await dying.accounts.addPIN(SecretBytes(utf8: "8068"), to: account, vaultKey: vaultKey)
        }
        if call < 3 { await service.waitForDeath() }
        defer { task.cancel() }
        if call == 3 { _ = try await task.value }
        // Within ten minutes, nobody ends a key whose keyslot may still be stored.
        try await fixture.login()
        fixture.clock.advance(by: 601)
        try await fixture.login()
        #expect(fixture.service.liveKeys == (try await fixture.keys()))
        #expect(try await RetiredKeys(store: fixture.store).all() == [])
    }

    @Test func `when a new keyslot's key has ended, then adding fails`() async throws {
        let fixture = OPRFFixture()
        let vaultKey = try await fixture.register()
        let account = try await fixture.account()
        let (_, slot) = try await fixture.accounts.makeRecoveryKeyslot(for: account, vaultKey: vaultKey)
        fixture.clock.advance(by: 599)
        await fixture.accounts.endRetiredKeys()
        #expect(fixture.service.liveKeys.contains(slot.keyID))
        fixture.clock.advance(by: 2)
        // A disk that a thief has must not end the key of a recovery code. So the vault key opens the signature.
        await fixture.accounts.endRetiredKeys()
        #expect(fixture.service.liveKeys.contains(slot.keyID))
        await fixture.accounts.endRetiredKeys(opening: (account.id, vaultKey))
        #expect(!fixture.service.liveKeys.contains(slot.keyID))
        #expect(
            await fixture.failure { try await fixture.accounts.add(slot, to: account, vaultKey: vaultKey) } == .busy)
        #expect(try await fixture.account().keyslot(.recovery) == nil)
    }

    @Test func `when a keyslot is given up, then its key ends`() async throws {
        let fixture = OPRFFixture()
        let vaultKey = try await fixture.register()
        let account = try await fixture.account()
        let (_, slot) = try await fixture.accounts.makeRecoveryKeyslot(for: account, vaultKey: vaultKey)
        await fixture.accounts.discard(slot, of: account, vaultKey)
        #expect(fixture.service.liveKeys == (try await fixture.keys()))
        #expect(try await RetiredKeys(store: fixture.store).all() == [])
    }

    @Test(arguments: [1, 2, 3, 4, 5])
    func `when fewer than three answers are lost, then adding works`(lost: Int) async throws {
        let fixture = OPRFFixture()
        let vaultKey = try await fixture.register()
        fixture.service.lostAnswers = lost
        let code = await fixture.failure {
            try await fixture.accounts.addPIN(SecretBytes(utf8: "8068"), to: fixture.account(), vaultKey: vaultKey)
        }
        #expect(code == (lost < 3 ? nil : .keyServiceUnavailable))
        fixture.service.lostAnswers = 0
        try await fixture.login()
        #expect(fixture.service.liveKeys == (try await fixture.keys()))
    }

    // MARK: - From version 1

    @Test func `when version-1 keyslots open, then they become version 2`() async throws {
        let fixture = OPRFFixture(newAccountProtocol: 1)
        fixture.service.versions = []
        let (_, code, token) = try await withAllMethods(fixture)
        #expect(Set(try await fixture.account().keyslots.map(\.keyServiceProtocol)) == [1])
        let old = try await fixture.keys()
        #expect(fixture.first.liveKeys == old)
        try await fixture.login()
        fixture.service.versions = [2]
        try await fixture.login()
        #expect(try await fixture.slot().keyServiceProtocol == 1, "the service is asked once a day")
        fixture.clock.advance(by: 86_401)
        #expect(try await fixture.login() == nil)
        #expect(try await fixture.slot().keyServiceProtocol == 2)
        try await fixture.login(with: .pin(SecretBytes(utf8: "8068")))
        try await fixture.login(with: .recoveryCode(code))
        try await fixture.login(with: token)
        let account = try await fixture.account()
        #expect(account.keyslots.count == 4 && Set(account.keyslots.map(\.keyServiceProtocol)) == [2])
        #expect(fixture.first.liveKeys == [])
        #expect(fixture.service.liveKeys == (try await fixture.keys()))
        let calls = fixture.service.calls.filter { $0 == .versions }.count
        try await fixture.login()
        #expect(fixture.service.calls.filter { $0 == .versions }.count == calls)
    }

    @Test func `when a service denies version 2, then version 2 stays`() async throws {
        let fixture = OPRFFixture()
        let vaultKey = try await fixture.register()
        fixture.service.versions = []
        try await fixture.accounts.addPIN(SecretBytes(utf8: "8068"), to: fixture.account(), vaultKey: vaultKey)
        #expect(try await fixture.slot(.pin).keyServiceProtocol == 2 && fixture.first.calls == 0)
        // Nor does the service: the answer may be a lie of the network.
        try await fixture.accounts.delete(fixture.account().id, vaultKey: vaultKey)
        try await fixture.register()
        #expect(try await fixture.slot().keyServiceProtocol == 2)
    }

    @Test func `when the service is unreachable, then no version-1 key appears`() async throws {
        let fixture = OPRFFixture()
        fixture.service.isReachable = false
        #expect(await fixture.failure { try await fixture.register() } == .keyServiceUnavailable)
        #expect(fixture.first.calls == 0)
    }

    @Test func `when the policy requires version 2, then version 1 fails`() async throws {
        let fixture = OPRFFixture(newAccountProtocol: 1)
        fixture.service.versions = []
        try await fixture.register()
        let calls = fixture.first.calls
        let strict = fixture.restarted(policy: VaultPolicy(keyServiceProtocol: 2))
        #expect(await strict.failure() == .forbiddenByPolicy)
        #expect(await strict.failure { try await strict.register(replacingItems: true) } == .forbiddenByPolicy)
        #expect(fixture.first.calls == calls, "nothing was sent")
        let file = Array("{\"key-service-protocol\": 2}".utf8)
        #expect(try VaultPolicy(json: file, from: "policy.json").keyServiceProtocol == 2)
        #expect(
            VaultPolicy.stricter(of: .standard, VaultPolicy(keyServiceProtocol: 2)).keyServiceProtocol == 2)
    }

    @Test func `when a stored keyslot bit flips, then login reports damage`() async throws {
        try await withTemporaryFolder { folder in
            let fixture = OPRFFixture(store: try SQLiteStore(folder: folder))
            try await fixture.register()
            let calls = fixture.service.calls.count
            for column in ["check_key", "end_signature", "wrapped", "key_id", "protocol", "salt"] {
                let original = try Raw.value(folder, "keyslot", column)
                for bit in Raw.bitsToFlip(of: original) {
                    try Raw.set(folder, "keyslot", column, Raw.flipping(bit, of: original))
                    #expect(await fixture.failure() == .storeCorrupt, "\(column) \(bit)")
                }
                try Raw.set(folder, "keyslot", column, original)
            }
            #expect(fixture.service.calls.count == calls)
            #expect(try await fixture.login() == nil)
        }
    }

    @Test func `when one account is damaged, then others add unlock methods`() async throws {
        try await withTemporaryFolder { folder in
            let store = try SQLiteStore(folder: folder)
            try await Registry(store: store).register("bob")
            let original = try Raw.value(folder, "account", "checksum")
            try Raw.set(folder, "account", "checksum", Raw.flipping(0, of: original))
            let fixture = OPRFFixture(store: try SQLiteStore(folder: folder))
            let vaultKey = try await fixture.register()
            try await fixture.accounts.addPIN(SecretBytes(utf8: "8068"), to: fixture.account(), vaultKey: vaultKey)
            #expect(try await fixture.login(with: .pin(SecretBytes(utf8: "8068"))) == nil)
        }
    }

    @Test(arguments: ["salt = x'00'", "protocol = 1", "protocol = 3", "protocol = NULL", "end_signature = NULL"])
    func `when a damaged keyslot is removed, then its key ends`(damage: String) async throws {
        try await withTemporaryFolder { folder in
            let fixture = OPRFFixture(store: try SQLiteStore(folder: folder))
            _ = try await withAllMethods(fixture)
            let pin = try await fixture.slot(.pin)
            try Raw.execute(folder, "UPDATE keyslot SET \(damage) WHERE kind = 'pin'")
            try await fixture.accounts.removeKeyslot(pin.id, of: fixture.account().id)
            // If the keyslot lost its signature, the next login ends the key.
            try await fixture.login()
            #expect(fixture.service.liveKeys == (try await fixture.keys()))
        }
    }

    @Test func `when deletion uses an agent's vault key, then keys end`() async throws {
        let fixture = OPRFFixture()
        let (vaultKey, _, _) = try await withAllMethods(fixture)
        let held = VaultKey(heldBy: Holder(key: vaultKey, id: try await fixture.account().id))
        try await fixture.accounts.delete(fixture.account().id, vaultKey: held)
        #expect(fixture.service.liveKeys == [] && fixture.told.notices == [])
    }
}

/// Another process that holds the vault key.
private struct Holder: VaultKeyHolder {
    let key: VaultKey
    let id: AccountID

    func seal(_ content: [UInt8], as name: ItemName, of id: AccountID) async throws -> [UInt8] {
        try await key.seal(content, as: name, of: id)
    }
    func open(_ sealed: [UInt8], as name: ItemName, of id: AccountID) async throws -> [UInt8] {
        try await key.open(sealed, as: ItemName(rawValue: name.rawValue), of: id)
    }
    func streamKey(of name: ItemName) async throws -> SharedSecret { try await key.streamKey(of: name, of: id) }
}

/// A service that never ends a key.
struct UnendingService: WrappedOPRFService {
    let base: any OPRFKeyService

    func endKey(id: String, signature: [UInt8]) async throws {
        throw KeyServiceError(.unavailable, "The key service does not answer.")
    }
}

/// A service at whose n-th call of a creation the program stops for ever, as after a kill.
private final class DyingService: WrappedOPRFService {
    let base: any OPRFKeyService
    private let call: Int
    /// Whether the call arrives before the program stops.
    private let arrives: Bool
    private let (deaths, died) = AsyncStream.makeStream(of: Void.self)
    private let (end, _keepOpen) = AsyncStream.makeStream(of: Void.self)

    init(base: any OPRFKeyService, call: Int, arrives: Bool) {
        (self.base, self.call, self.arrives) = (base, call, arrives)
    }

    func waitForDeath() async { for await _ in deaths { return } }

    func createKey(_ key: NewOPRFKey) async throws -> FirstEvaluation {
        try await dying(1) { try await base.createKey(key) }
    }
    func confirm(_ confirmation: KeyConfirmation) async throws {
        try await dying(2) { try await base.confirm(confirmation) }
    }

    private func dying<R>(_ number: Int, _ body: () async throws -> R) async throws -> R {
        guard number == call else { return try await body() }
        if arrives { _ = try await body() }
        died.yield()
        // This stream ends only with the test's task.
        for await _ in end {}
        throw CancellationError()
    }
}
