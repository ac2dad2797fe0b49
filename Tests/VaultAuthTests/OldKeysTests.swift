import CredentialVault
import Foundation
import Testing
import VaultAuth
import VaultBase
import VaultDevelopment
import VaultStorage
import VaultTesting

/// Removed unlock methods never work again: their keys are ended at the key service.
@Suite(.timeLimit(.minutes(2))) struct OldKeysTests {
    /// The changes that remove or replace an unlock method.
    enum Change: CaseIterable {
        case passwd, dropping, removing, removingHardware, newPIN, newCode, deleting, deletingOpen, clearing,
            registering
    }

    private func make(_ change: Change, _ fixture: Fixture) async throws {
        let accounts = try fixture.vault.accounts
        let account = try await fixture.account()
        switch change {
        case .passwd, .dropping:
            try await accounts.setPassword(
                SecretBytes(utf8: "a new one for tea"), of: account, vaultKey: fixture.vaultKey(),
                dropsOtherMethods: change == .dropping)
        case .removing: try await accounts.removeKeyslot(#require(account.keyslot(.pin)).id, of: account.id)
        case .removingHardware: try await fixture.vault.storage.disableBiometricAccess(userID: "alice")
        case .newPIN: try await fixture.addPIN("7391")
        case .newCode: _ = try await fixture.addRecoveryCode()
        case .deleting: try await accounts.delete(account.id)
        case .deletingOpen:
            try await fixture.login()
            _ = try await fixture.vault.auth.deleteAccount()
        case .clearing: try await fixture.vault.storage.clear(userID: "alice")
        case .registering:
            try await fixture.vault.storage.storeRefreshToken(
                fixture.signIn(), withNewPassword: SecretBytes(utf8: "a new one for tea"), alias: nil,
                replacingItems: true)
        }
    }

    /// With a password, a PIN, a recovery code, and a token.
    private func withAllMethods(_ fixture: Fixture) async throws {
        try await fixture.register()
        try await fixture.addPIN()
        _ = try await fixture.addRecoveryCode()
        try await fixture.vault.storage.enableBiometricAccess(
            userID: "alice", password: SecretBytes(utf8: Fixture.password), using: ScriptedHardwareKey(pin: "123456"),
            prompt: ScriptedPrompt("123456"))
    }

    private func keys(_ fixture: Fixture) async throws -> Set<String> {
        Set(try await fixture.store.accounts().flatMap(\.keyslots).map(\.keyID))
    }

    @Test(arguments: Change.allCases)
    func `when an unlock method is removed, then its key ends`(change: Change) async throws {
        try await withFixture { fixture in
            try await withAllMethods(fixture)
            let before = try await keys(fixture)
            #expect(fixture.keyService.liveKeys == before && before.count == 4)
            try await make(change, fixture)
            let after = try await keys(fixture)
            #expect(!before.isSubset(of: after))
            #expect(fixture.keyService.liveKeys == after)
            #expect(try await fixture.vault.accounts.retiredKeys() == [])
        }
    }

    @Test(arguments: Change.allCases)
    func `when ending a key fails, then another person's login retries`(change: Change) async throws {
        try await withFixture { fixture in
            try await fixture.register("bob", password: "bob has his own one")
            try await withAllMethods(fixture)
            let service = UnendingKeyService(base: fixture.keyService)
            let vault = try await fixture.anotherVault(keyService: service)
            let told = Lock<[AccountNotice]>([])
            try vault.accounts.onNotice { notice in told.withLock { $0.append(notice) } }
            let before = try await keys(fixture)
            let other = Fixture(fixture, vault)
            try await make(change, other)
            let gone = before.subtracting(try await keys(fixture))
            #expect(!gone.isEmpty && gone.isSubset(of: fixture.keyService.liveKeys))
            #expect(Set(try await vault.accounts.retiredKeys().map(\.id)) == gone)
            #expect(told.withLock { $0.map(\.code) } == gone.map { _ in .keyNotEnded })
            let notice = told.withLock { $0[0] }
            let isGone = [Change.deleting, .deletingOpen, .clearing].contains(change)
            let next =
                isGone
                ? "The next login or registration with this key service tries again." : "The next login tries again."
            #expect(notice.description.contains(next) && notice.end == .later)
            #expect(notice.description.contains(" the old ") != isGone)
            try await fixture.login("bob", password: "bob has his own one")
            #expect(try await fixture.vault.accounts.retiredKeys() == [])
            #expect(fixture.keyService.liveKeys == (try await keys(fixture)))
        }
    }

    @Test func `when a retired key has a keyslot, then it stays`() async throws {
        try await withFixture { fixture in
            try await withAllMethods(fixture)
            let account = try await fixture.account()
            let list = RetiredKeys(store: fixture.store)
            try await list.add(account.keyslots.map { RetiredKey(id: $0.keyID, keyServiceURL: account.keyServiceURL) })
            #expect(try await fixture.vault.accounts.endRetiredKeys() == [])
            #expect(fixture.keyService.liveKeys == (try await keys(fixture)))
            try await fixture.login()
        }
    }

    @Test func `when the store fails, then the change's new key ends`() async throws {
        try await withFixture { fixture in
            try await withAllMethods(fixture)
            let before = try await keys(fixture)
            let store = WatchedStore(base: fixture.store) { changes in
                let stores = changes.contains { change in
                    if case .putKeyslot = change { true } else { false }
                }
                if stores || changes.activatesKeyslot { throw StoreError(.unreadable, "The disk is full.") }
            }
            let vault = try await fixture.anotherVault(store: store)
            for change in [Change.passwd, .newPIN, .registering] {
                let error = await failure { try await make(change, Fixture(fixture, vault)) }
                #expect(error?.code == .storeUnreadable, "\(change)")
                #expect(fixture.keyService.liveKeys == before, "\(change)")
                #expect(try await fixture.store.stagedKeyslot(of: fixture.id()) == nil)
            }
        }
    }

    @Test func `when a keyslot is discarded, then adding it fails`() async throws {
        try await withFixture { fixture in
            try await fixture.register()
            let accounts = try fixture.vault.accounts
            let key = try await fixture.vaultKey()
            let (code, slot) = try await accounts.makeRecoveryKeyslot(for: fixture.account(), vaultKey: key)
            let store = WatchedStore(base: fixture.store) { _ in throw StoreError(.busy, "Try again.") }
            let busy = try await fixture.anotherVault(store: store).accounts
            #expect(await failure { try await busy.add(slot, to: fixture.account(), vaultKey: key) }?.code == .busy)
            try await accounts.add(slot, to: fixture.account(), vaultKey: key)
            #expect(try await fixture.login(with: .recoveryCode(code)).isOpen)
            // The stored keyslot stays valid.
            await accounts.discard(slot, of: try await fixture.account(), key)
            #expect(try await fixture.login(with: .recoveryCode(code)).isOpen)

            let (_, other) = try await accounts.makeRecoveryKeyslot(for: fixture.account(), vaultKey: key)
            await accounts.discard(other, of: try await fixture.account(), key)
            #expect(!fixture.keyService.liveKeys.contains(other.keyID))
            #expect(
                await failure { try await accounts.add(other, to: fixture.account(), vaultKey: key) }?.code
                    == .keyLocked)
            #expect(try await fixture.login(with: .recoveryCode(code)).isOpen)
        }
    }

    @Test func `when a staged keyslot is left, then login removes it`() async throws {
        try await withFixture { fixture in
            try await fixture.register()
            let (_, left) = try await fixture.vault.accounts.makeRecoveryKeyslot(
                for: fixture.account(), vaultKey: fixture.vaultKey())
            try await fixture.store.apply([.stageKeyslot(left)], to: fixture.id())
            try await fixture.login()
            #expect(try await fixture.store.stagedKeyslot(of: fixture.id()) == nil)
            #expect(!fixture.keyService.liveKeys.contains(left.keyID))
        }
    }
}

/// A key service that never ends a key.
struct UnendingKeyService: KeyService {
    let base: any KeyService

    func createKey(secret: borrowing SecretBytes) async throws -> ReleasedKey {
        try await base.createKey(secret: secret)
    }
    func releaseKey(id: String, secret: borrowing SecretBytes, kind: KeySecretKind) async throws -> ReleasedKey {
        try await base.releaseKey(id: id, secret: secret, kind: kind)
    }
    func checkReachable() async throws { try await base.checkReachable() }
    func endKey(id: String) async throws { throw KeyServiceError(.unavailable, "The key service does not answer.") }
}
