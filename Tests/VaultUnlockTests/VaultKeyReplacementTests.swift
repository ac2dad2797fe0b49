import Foundation
import KeyServiceClient
import TestSupport
import Testing
import VaultBiometric
import VaultCrypto
import VaultSQLite
import VaultStorage
import VaultStorageTestSupport
import VaultTesting
import VaultUnlock

/// The replacement of an account's vault key.
@Suite(.timeLimit(.minutes(2))) struct VaultKeyReplacementTests {
    private static let id = AccountID(issuer: issuer, subject: "alice")
    private static let large = (0..<5 << 20).map { UInt8(truncatingIfNeeded: $0 / 1000) }

    private static var password: UnlockMethod {
        get throws { try .password(SecretBytes(utf8: OPRFFixture.password)) }
    }

    private func contents(_ fixture: OPRFFixture, _ vaultKey: VaultKey) -> ItemContents {
        ItemContents(store: fixture.store, id: Self.id, vaultKey: vaultKey)
    }

    private func put(_ bytes: [UInt8], _ name: ItemName, _ fixture: OPRFFixture, _ vaultKey: VaultKey) async throws {
        let pieces = AsyncStream { continuation in
            continuation.yield(bytes)
            continuation.finish()
        }
        let change = try await contents(fixture, vaultKey).sealed(pieces, as: name)
        try await fixture.store.apply([change], to: Self.id, sealedUnder: vaultKey)
    }

    /// Stores an item as versions before stream keys did: the vault key itself opens its chunks.
    private func putOld(_ bytes: [UInt8], _ name: ItemName, _ fixture: OPRFFixture, _ key: VaultKey) async throws {
        let context = SealingContext(
            purpose: "credential-vault/v1/item", issuer: issuer, subject: "alice", id: name.rawValue)
        let streamKey = try await key.streamKey(of: name, of: Self.id)
        let sealer = try StreamSealer(streamKey: streamKey.bytes, context: context)
        let chunks = try SealedChunks(folder: fixture.store.folderForChunks)
        for start in stride(from: 0, to: bytes.count, by: SealedStream.chunkSize) {
            let end = min(start + SealedStream.chunkSize, bytes.count)
            try chunks.append(sealer.seal(Array(bytes[start..<end]), isLast: end == bytes.count))
        }
        try await fixture.store.apply([.putChunks(name, head: sealer.head, chunks)], to: Self.id)
    }

    private func get(_ name: ItemName, _ fixture: OPRFFixture, _ vaultKey: VaultKey) async throws -> [UInt8]? {
        guard let item = try await contents(fixture, vaultKey).item(name) else { return nil }
        var bytes: [UInt8] = []
        for try await piece in item.content { bytes += piece }
        return bytes
    }

    private func opens(_ name: ItemName, _ fixture: OPRFFixture, _ vaultKey: VaultKey) async -> Bool {
        (try? await get(name, fixture, vaultKey)) != nil
    }

    private func replace(_ fixture: OPRFFixture, _ method: UnlockMethod? = nil) async throws -> ReplacedVaultKey {
        try await fixture.accounts.replaceVaultKey(of: fixture.account(), keeping: method ?? Self.password)
    }

    @Test func `when the vault-key record is altered, then login corrects it`() async throws {
        let fixture = OPRFFixture()
        let vaultKey = try await fixture.register()
        let record = VaultKeyRecord(store: fixture.store, account: Self.id)
        try await fixture.store.withRecord(Self.id.recordPrefix + "vault-key") { $0 = Array(repeating: 7, count: 16) }
        await #expect(throws: StoreError.self) { try await record.require(vaultKey) }
        try await fixture.login()
        try await record.require(vaultKey)
        try await put([1, 2, 3], "note", fixture, vaultKey)
    }

    @Test(arguments: StoreKind.allCases)
    func `when a vault key is replaced, then it opens nothing`(kind: StoreKind) async throws {
        try await kind.withStore { store in
            let fixture = OPRFFixture(store: store)
            let old = try await fixture.register()
            try await put([1, 2], "small", fixture, old)
            try await put(Self.large, "large", fixture, old)
            try await putOld(Self.large, "old", fixture, old)
            try await fixture.accounts.addPIN(SecretBytes(utf8: "8068"), to: fixture.account(), vaultKey: old)
            let chunk = try await store.chunk(
                1, ofItem: "large", head: #require(store.item("large", of: Self.id)), of: Self.id)
            let replaced = try await replace(fixture)
            let new = replaced.vaultKey
            #expect(replaced.endedKeyslots.map(\.kind) == [.pin])
            #expect(try await fixture.account().keyslots.map(\.kind) == [.password])
            let items: [(ItemName, [UInt8])] = [("small", [1, 2]), ("large", Self.large), ("old", Self.large)]
            for (name, bytes) in items {
                #expect(try await get(name, fixture, new) == bytes)
                // With the old key and a later copy of the store, a thief reads nothing.
                #expect(await opens(name, fixture, old) == false)
            }
            let head = try #require(try await store.item("large", of: Self.id))
            #expect(
                try await store.chunk(1, ofItem: "large", head: head, of: Self.id) == chunk,
                "the chunks of a streamed item stay")
            #expect(try await fixture.accounts.refreshToken(of: Self.id, vaultKey: new).value == "refresh token")
            // The password opens the new key, and the service has no other key.
            #expect(try await fixture.accounts.open(fixture.account(), with: Self.password).isEqual(to: new))
            await fixture.accounts.finishConfirming()
            #expect(fixture.service.liveKeys == (try await fixture.keys()))
            #expect(await fixture.accounts.retiredKeys() == [])
        }
    }

    @Test func `when a vault key is outdated, then every write fails`() async throws {
        let fixture = OPRFFixture()
        let old = try await fixture.register()
        try await put([1], "note", fixture, old)
        let new = try await replace(fixture).vaultKey
        let before = try await fixture.store.item("note", of: Self.id)
        let account = try await fixture.account()
        let writes: [() async throws -> Void] = [
            { try await put([2], "note", fixture, old) },
            { try await fixture.accounts.addPIN(SecretBytes(utf8: "8068"), to: account, vaultKey: old) },
            {
                try await fixture.accounts.setPassword(
                    SecretBytes(utf8: "a new one for tea"), of: account, vaultKey: old)
            },
            {
                try await fixture.accounts.replaceRefreshToken(
                    fixture.accounts.refreshToken(of: Self.id, vaultKey: new), in: account, vaultKey: old, alias: nil)
            },
        ]
        for write in writes {
            do {
                try await write()
                Issue.record("the old key was taken")
            } catch {
                let error = try #require(VaultError.converting(error) as? VaultError)
                #expect(error.code == .notLoggedIn && error.isOfReplacedVaultKey)
            }
        }
        #expect(try await fixture.store.item("note", of: Self.id) == before)
        #expect(fixture.service.liveKeys == (try await fixture.keys()))
    }

    @Test func `when the vault-key record is missing, then login adds it`() async throws {
        let fixture = OPRFFixture()
        let old = try await fixture.register()
        let name = Self.id.recordPrefix + "vault-key"
        try await fixture.store.withRecord(name) { $0 = nil }
        try await put([1], "note", fixture, old)
        try await fixture.login()
        #expect(try await fixture.store.withRecord(name) { $0?.count } == 16)
        _ = try await replace(fixture)
        #expect(await thrown(\StoreError.code) { try await put([2], "note", fixture, old) } == .vaultKeyReplaced)
    }

    @Test func `when an item is damaged, then the other items move`() async throws {
        let fixture = OPRFFixture()
        let old = try await fixture.register()
        try await fixture.store.apply([.putItem("damaged", [1, 2, 3])], to: Self.id)
        try await put([1], "note", fixture, old)
        let new = try await replace(fixture).vaultKey
        #expect(try await get("note", fixture, new) == [1])
        #expect(try await fixture.store.item("damaged", of: Self.id) == [1, 2, 3])
    }

    @Test func `when a token is removed unopened, then its key ends`() async throws {
        let fixture = OPRFFixture()
        let old = try await fixture.register()
        let away = fixture.restarted { UnendingService(base: $0) }
        let token = try await fixture.accounts.addHardware(
            ScriptedHardwareKey(pin: "123456"), prompt: ScriptedPrompt("123456"), to: fixture.account(), vaultKey: old)
        let method = try Self.password
        _ = try await away.accounts.opened(fixture.account(), with: method)
        // Without the vault key, the signature that ends the key stays sealed under it.
        try await away.accounts.removeKeyslot(token.id, of: Self.id)
        _ = try await away.accounts.replaceVaultKey(of: fixture.account(), keeping: method)
        try await fixture.login()
        #expect(fixture.service.liveKeys == (try await fixture.keys()))
        #expect(await fixture.accounts.retiredKeys() == [])
    }

    @Test func `when hardware is kept, then it opens the new key`() async throws {
        let fixture = OPRFFixture()
        let old = try await fixture.register()
        let hardware = try ScriptedHardwareKey(pin: "123456")
        try await fixture.accounts.addHardware(
            hardware, prompt: ScriptedPrompt("123456"), to: fixture.account(), vaultKey: old)
        let method = UnlockMethod.hardware(hardware, ScriptedPrompt("123456", "123456"))
        let replaced = try await replace(fixture, method)
        #expect(replaced.endedKeyslots.map(\.kind) == [.password])
        #expect(try await fixture.accounts.open(fixture.account(), with: method).isEqual(to: replaced.vaultKey))
    }

    @Test func `when a recovery code is kept, then replacement is refused`() async throws {
        let fixture = OPRFFixture()
        let old = try await fixture.register()
        let (code, slot) = try await fixture.accounts.makeRecoveryKeyslot(for: fixture.account(), vaultKey: old)
        try await fixture.accounts.add(slot, to: fixture.account(), vaultKey: old)
        #expect(await fixture.failure { _ = try await replace(fixture, .recoveryCode(code)) } == .configurationInvalid)
        #expect(try await fixture.accounts.open(fixture.account(), with: .recoveryCode(code)).isEqual(to: old))
    }

    @Test func `when the secret is wrong, then the vault key stays`() async throws {
        let fixture = OPRFFixture()
        let old = try await fixture.register()
        let wrong = try UnlockMethod.password(SecretBytes(utf8: "a slip"))
        #expect(await fixture.failure { _ = try await replace(fixture, wrong) } == .wrongSecret)
        #expect(try await fixture.accounts.open(fixture.account(), with: Self.password).isEqual(to: old))
    }
}
