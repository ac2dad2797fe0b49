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

    private func make(_ change: Change, _ bench: Bench) async throws {
        let accounts = try bench.vault.accounts
        let account = try await bench.account()
        switch change {
        case .passwd, .dropping:
            try await accounts.setPassword(
                SecretBytes(utf8: "a new one for tea"), of: account, vaultKey: bench.vaultKey(),
                dropsOtherMethods: change == .dropping)
        case .removing: try await accounts.removeKeyslot(#require(account.keyslot(.pin)).id, of: account.id)
        case .removingHardware: try await bench.vault.storage.disableBiometricAccess(userID: "alice")
        case .newPIN: try await bench.addPIN("7391")
        case .newCode: _ = try await bench.addRecoveryCode()
        case .deleting: try await accounts.delete(account.id)
        case .deletingOpen:
            try await bench.login()
            _ = try await bench.vault.auth.deleteAccount()
        case .clearing: try await bench.vault.storage.clear(userID: "alice")
        case .registering:
            try await bench.vault.storage.storeRefreshToken(
                bench.signIn(), withNewPassword: SecretBytes(utf8: "a new one for tea"), alias: nil,
                replacingItems: true)
        }
    }

    /// With a password, a PIN, a recovery code, and a token.
    private func withAllMethods(_ bench: Bench) async throws {
        try await bench.register()
        try await bench.addPIN()
        _ = try await bench.addRecoveryCode()
        try await bench.vault.storage.enableBiometricAccess(
            userID: "alice", password: SecretBytes(utf8: Bench.password), using: ScriptedHardwareKey(pin: "123456"),
            prompt: ScriptedPrompt("123456"))
    }

    private func keys(_ bench: Bench) async throws -> Set<String> {
        Set(try await bench.store.accounts().flatMap(\.keyslots).map(\.keyID))
    }

    @Test(arguments: Change.allCases)
    func `when an unlock method is removed, then its key ends`(change: Change) async throws {
        try await withBench { bench in
            try await withAllMethods(bench)
            let before = try await keys(bench)
            #expect(bench.keyService.liveKeys == before && before.count == 4)
            try await make(change, bench)
            let after = try await keys(bench)
            #expect(!before.isSubset(of: after))
            #expect(bench.keyService.liveKeys == after)
            #expect(try await bench.vault.accounts.retiredKeys() == [])
        }
    }

    @Test(arguments: Change.allCases)
    func `when ending a key fails, then another person's login retries`(change: Change) async throws {
        try await withBench { bench in
            try await bench.register("bob", password: "bob has his own one")
            try await withAllMethods(bench)
            let service = UnendingKeyService(base: bench.keyService)
            let vault = try await bench.anotherVault(keyService: service)
            let told = Lock<[AccountNotice]>([])
            try vault.accounts.onNotice { notice in told.withLock { $0.append(notice) } }
            let before = try await keys(bench)
            let other = Bench(bench, vault)
            try await make(change, other)
            let gone = before.subtracting(try await keys(bench))
            #expect(!gone.isEmpty && gone.isSubset(of: bench.keyService.liveKeys))
            #expect(Set(try await vault.accounts.retiredKeys().map(\.id)) == gone)
            #expect(told.withLock { $0.map(\.code) } == gone.map { _ in .keyNotEnded })
            let notice = told.withLock { $0[0] }
            #expect(notice.description.hasSuffix("The next login tries again.") && notice.end == .later)
            try await bench.login("bob", password: "bob has his own one")
            #expect(try await bench.vault.accounts.retiredKeys() == [])
            #expect(bench.keyService.liveKeys == (try await keys(bench)))
        }
    }

    @Test func `when a keyslot's key is retired, then it stays alive`() async throws {
        try await withBench { bench in
            try await withAllMethods(bench)
            let account = try await bench.account()
            let list = RetiredKeys(store: bench.store)
            try await list.add(account.keyslots.map { RetiredKey(id: $0.keyID, keyServiceURL: account.keyServiceURL) })
            #expect(try await bench.vault.accounts.endRetiredKeys() == [])
            #expect(bench.keyService.liveKeys == (try await keys(bench)))
            try await bench.login()
        }
    }

    @Test func `when the store fails, then the change's new key ends`() async throws {
        try await withBench { bench in
            try await withAllMethods(bench)
            let before = try await keys(bench)
            let store = WatchedStore(base: bench.store) { changes in
                let stores = changes.contains { change in
                    if case .putKeyslot = change { true } else { false }
                }
                if stores || changes.activatesKeyslot { throw StoreError(.unreadable, "The disk is full.") }
            }
            let vault = try await bench.anotherVault(store: store)
            for change in [Change.passwd, .newPIN, .registering] {
                let error = await failure { try await make(change, Bench(bench, vault)) }
                #expect(error?.code == .storeUnreadable, "\(change)")
                #expect(bench.keyService.liveKeys == before, "\(change)")
                #expect(try await bench.store.stagedKeyslot(of: bench.id()) == nil)
            }
        }
    }

    @Test func `when a keyslot is discarded, then adding it fails`() async throws {
        try await withBench { bench in
            try await bench.register()
            let accounts = try bench.vault.accounts
            let key = try await bench.vaultKey()
            let (code, slot) = try await accounts.makeRecoveryKeyslot(for: bench.account(), vaultKey: key)
            let store = WatchedStore(base: bench.store) { _ in throw StoreError(.busy, "Try again.") }
            let busy = try await bench.anotherVault(store: store).accounts
            #expect(await failure { try await busy.add(slot, to: bench.account(), vaultKey: key) }?.code == .busy)
            try await accounts.add(slot, to: bench.account(), vaultKey: key)
            #expect(try await bench.login(with: .recoveryCode(code)).isOpen)
            // The stored keyslot stays valid.
            await accounts.discard(slot, of: try await bench.account(), key)
            #expect(try await bench.login(with: .recoveryCode(code)).isOpen)

            let (_, other) = try await accounts.makeRecoveryKeyslot(for: bench.account(), vaultKey: key)
            await accounts.discard(other, of: try await bench.account(), key)
            #expect(!bench.keyService.liveKeys.contains(other.keyID))
            #expect(
                await failure { try await accounts.add(other, to: bench.account(), vaultKey: key) }?.code == .keyLocked)
            #expect(try await bench.login(with: .recoveryCode(code)).isOpen)
        }
    }

    @Test func `when a staged keyslot is left, then login removes it`() async throws {
        try await withBench { bench in
            try await bench.register()
            let (_, left) = try await bench.vault.accounts.makeRecoveryKeyslot(
                for: bench.account(), vaultKey: bench.vaultKey())
            try await bench.store.apply([.stageKeyslot(left)], to: bench.id())
            try await bench.login()
            #expect(try await bench.store.stagedKeyslot(of: bench.id()) == nil)
            #expect(!bench.keyService.liveKeys.contains(left.keyID))
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
