import KeyServiceClient
import TestSupport
import Testing
import VaultBiometric
import VaultCrypto
import VaultStorage
import VaultStorageTestSupport
import VaultTesting
import VaultUnlock

/// Keyslots that the keyring of the desktop opens. Their keys are at the key service.
@Suite(.timeLimit(.minutes(1))) struct DesktopKeyslotTests {
    private let keyring = InMemoryDesktopKeyring()

    private func add(to fixture: OPRFFixture, _ vaultKey: VaultKey) async throws {
        try await fixture.accounts.addHardware(
            DesktopProvider(keyring), prompt: ScriptedPrompt(), to: fixture.account(), vaultKey: vaultKey,
            allowsUnlimitedGuesses: true)
    }

    /// A thief's program on a copy of the whole disk.
    private func thief(of fixture: OPRFFixture) async throws -> OPRFFixture {
        let (thief, id) = (try await fixture.thief(), try await fixture.account().id)
        for name in try await fixture.store.itemNames(of: id) {
            guard let sealed = try await fixture.store.item(name, of: id) else { continue }
            try await thief.store.apply([.putItem(name, sealed)], to: id)
        }
        return thief
    }

    @Test func `when the keyring opens a keyslot, then one call suffices`() async throws {
        let fixture = try KeyslotFixture()
        let slot = try await fixture.make(DesktopProvider(keyring), pin: "")
        #expect(slot.kind == .desktop && slot.needsKeyService && slot.label == nil)
        #expect(fixture.keyService.calls == 1)
        #expect(try await fixture.open(slot, DesktopProvider(keyring), pin: "").isEqual(to: fixture.vaultKey))
        #expect(fixture.keyService.calls == 2)
    }

    @Test func `when a keyslot part is replaced, then opening fails`() async throws {
        let (fixture, provider) = (try KeyslotFixture(), DesktopProvider(keyring))
        let slot = try await fixture.make(provider, pin: "")
        let other = try await fixture.make(provider, pin: "")
        for changed in [
            slot.changed(id: other.id), slot.changed(wrapped: other.wrapped),
            slot.changed(protection: other.protection), slot.changed(protection: []), slot.changed(keyID: other.keyID),
            slot.changed(keyID: ""),
        ] {
            #expect(
                await thrown(\StoreError.code) { _ = try await fixture.open(changed, provider, pin: "") } == .corrupt)
        }
        #expect(try await fixture.open(slot, provider, pin: "").isEqual(to: fixture.vaultKey))
    }

    @Test func `when no key service is wanted, then making fails`() async throws {
        let fixture = try KeyslotFixture()
        let code = await thrown(\BiometricError.code) {
            _ = try await fixture.make(DesktopProvider(keyring), pin: "", needsKeyService: false)
        }
        #expect(code == .unavailable)
        #expect(keyring.count == 0)
    }

    // Row: the desktop keyring
    // Row: `desktop`
    @Test func `when a thief opens the keyring, then revoking helps`() async throws {
        let fixture = OPRFFixture()
        let vaultKey = try await fixture.register()
        try await add(to: fixture, vaultKey)
        let thief = try await thief(of: fixture)
        // With the disk alone, the thief cannot even ask the key service, so no guess locks the key.
        keyring.isLocked = true
        keyring.answer = .closes
        let calls = fixture.service.calls.count
        for _ in 0..<5 {
            #expect(await thief.failure { try await thief.login(with: .desktop(keyring)) } == .hardwareLocked)
        }
        #expect(fixture.service.calls.count == calls)
        // With the password of the desktop, which the thief can guess without limit, the account opens.
        keyring.answer = .unlocks
        #expect(try await thief.accounts.open(thief.account(), with: .desktop(keyring)).isEqual(to: vaultKey))
        await thief.accounts.finishConfirming()
        // The owner ends the key. Then the copy opens nothing.
        let slot = try await fixture.slot(.desktop)
        try await fixture.login()
        try await fixture.accounts.removeKeyslot(slot.id, of: fixture.account().id)
        try await fixture.login()
        #expect(await thief.failure { try await thief.login(with: .desktop(keyring)) } == .keyMissing)
    }

    @Test func `when the keyring is added again, then its secret changes`() async throws {
        let fixture = OPRFFixture()
        let vaultKey = try await fixture.register()
        try await add(to: fixture, vaultKey)
        let first = try await fixture.slot(.desktop)
        try await add(to: fixture, vaultKey)
        let slots = try await fixture.account().keyslots.filter { $0.kind == .desktop }
        #expect(slots.count == 1 && slots[0].id != first.id)
        #expect(keyring.count == 1, "the old secret left the keyring")
        try await fixture.login(with: .desktop(keyring))
    }

    @Test func `when adding fails, then the keyring keeps nothing`() async throws {
        let fixture = OPRFFixture()
        let vaultKey = try await fixture.register()
        keyring.isLocked = true
        let away = fixture.restarted { NoNewKeys(base: $0) }
        await #expect(throws: VaultError.self) { try await add(to: away, vaultKey) }
        #expect(keyring.questions == 1 && keyring.count == 0)
        let code = await fixture.failure {
            try await fixture.accounts.addHardware(
                DesktopProvider(keyring), prompt: ScriptedPrompt(), to: fixture.account(), vaultKey: vaultKey)
        }
        #expect(code == .guessesUnlimited, "an app has to ask first")
        #expect(keyring.count == 0)
    }

    @Test func `when a thief used the keyring, then the key changes`() async throws {
        let fixture = OPRFFixture()
        try await add(to: fixture, fixture.register())
        let first = try await fixture.slot(.desktop)
        let thief = try await thief(of: fixture)
        fixture.service.losesConfirms = true
        _ = try await thief.accounts.open(thief.account(), with: .desktop(keyring))
        await thief.accounts.finishConfirming()
        fixture.service.losesConfirms = false
        fixture.clock.advance(by: 120)
        let notice = try await fixture.login(with: .desktop(keyring))
        #expect(notice?.keyslot == .desktop)
        // The same secret of the keyring opens the new keyslot.
        #expect(try await fixture.slot(.desktop).id != first.id)
        try await fixture.login(with: .desktop(keyring))
        #expect(keyring.count == 1)
    }

    @Test func `when a keyring replaces the vault key, then replacing fails`() async throws {
        let fixture = OPRFFixture()
        let vaultKey = try await fixture.register()
        try await add(to: fixture, vaultKey)
        let code = await fixture.failure {
            _ = try await fixture.accounts.replaceVaultKey(of: fixture.account(), keeping: .desktop(keyring))
        }
        #expect(code == .secretRequired)
        try await fixture.login()
        try await fixture.login(with: .desktop(keyring))
    }
}

/// A key service that makes no keys.
private struct NoNewKeys: WrappedOPRFService {
    let base: any OPRFKeyService

    func createKey(_ key: NewOPRFKey) async throws -> FirstEvaluation {
        throw KeyServiceError(.unavailable, "The key service does not answer.")
    }
}
