import Foundation
import KeyServiceClient
import Testing
import VaultBiometric
import VaultCrypto
import VaultStorage
import VaultStorageTestSupport
import VaultTesting
import VaultUnlock

/// An account whose keyslots are made and opened without a store.
struct KeyslotFixture {
    let keyService = InMemoryKeyService()
    let account = Account.example("alice")
    let vaultKey: VaultKey
    let now = Date(timeIntervalSince1970: 1_800_000_000)

    init() throws {
        vaultKey = try VaultKey.random()
    }

    private var keys: ReleasedKeys { ReleasedKeys(service: keyService) }

    func make(_ kind: Keyslot.Kind, _ secret: String) async throws -> Keyslot {
        let draft = try await KeyslotDraft.typed(
            kind, SecretBytes(utf8: secret), for: account, cost: .insecureForTests, inputSize: 32, at: now)
        return try await keys.make(draft, for: account, vaultKey: vaultKey)
    }

    func open(
        _ slot: Keyslot, _ secret: String, as account: Account? = nil, cost: Argon2Parameters = .insecureForTests
    ) async throws -> VaultKey {
        try await open(slot, secret, as: account, cost: cost, with: keys)
    }

    func makeOffline(_ password: String) async throws -> Keyslot {
        let draft = try await KeyslotDraft.typed(
            .offline, SecretBytes(utf8: password), for: account, cost: .insecureForTests, inputSize: 32, at: now)
        return try await LocalKeys().make(draft, for: account, vaultKey: vaultKey)
    }

    /// Returns nil if the password is wrong.
    func openOffline(
        _ slot: Keyslot, _ password: String, as account: Account? = nil, cost: Argon2Parameters = .insecureForTests
    ) async throws -> VaultKey? {
        do {
            return try await open(slot, password, as: account, cost: cost, with: LocalKeys())
        } catch let error as VaultError where error.code == .wrongSecret {
            return nil
        }
    }

    private func open(
        _ slot: Keyslot, _ secret: String, as account: Account?, cost: Argon2Parameters, with keys: any SlotKeyProtocol
    ) async throws -> VaultKey {
        let input = try await slot.stretched(
            SharedSecret(SecretBytes(utf8: secret)), of: account ?? self.account, cost: cost, size: keys.inputSize)
        return try await keys.open(slot, of: account ?? self.account, input: input, spendsLastGuess: false).vaultKey
    }

    func make(_ provider: any BiometricProvider, pin: String, needsKeyService: Bool = true) async throws -> Keyslot {
        let draft = try await KeyslotDraft.hardware(
            provider, prompt: ScriptedPrompt(pin), needsKeyService: needsKeyService, at: now)
        let keys: any SlotKeyProtocol = needsKeyService ? keys : LocalKeys()
        return try await keys.make(draft, for: account, vaultKey: vaultKey)
    }

    func open(
        _ slot: Keyslot, _ provider: any BiometricProvider, pin: String, as account: Account? = nil
    ) async throws -> VaultKey {
        let keys: any SlotKeyProtocol = slot.needsKeyService ? keys : LocalKeys()
        let input = try await slot.unprotected(by: provider, ScriptedPrompt(pin))
        return try await keys.open(slot, of: account ?? self.account, input: input, spendsLastGuess: false).vaultKey
    }
}

extension Keyslot {
    /// A keyslot that an attacker with write access to the disk changed.
    func changed(
        id: String? = nil, kind: Kind? = nil, salt: [UInt8]? = nil, argon2: Argon2Parameters? = nil,
        keyID: String? = nil, wrapped: [UInt8]? = nil, protection: [UInt8]? = nil
    ) -> Keyslot {
        Keyslot(
            id: id ?? self.id, kind: kind ?? self.kind, salt: salt ?? self.salt, argon2: argon2 ?? self.argon2,
            keyID: keyID ?? self.keyID, keyServiceProtocol: keyServiceProtocol, wrapped: wrapped ?? self.wrapped,
            createdAt: createdAt, label: label,
            lastUsedAt: lastUsedAt, protection: protection ?? self.protection)
    }
}

/// A recovery code as text.
func newRecoveryCode() throws -> String {
    let code = try RecoveryCode.random().utf8String()
    return try #require(code)
}
