import Foundation
import KeyServiceClient
import Testing
import VaultBiometric
import VaultCrypto
import VaultStorage
import VaultTesting
import VaultUnlock

/// An account whose keyslots are made and opened without a store.
struct KeyslotBench {
    let keyService = InMemoryKeyService()
    let account = Account.example("alice")
    let vaultKey: VaultKey
    let now = Date(timeIntervalSince1970: 1_800_000_000)

    init() throws {
        vaultKey = try VaultKey.random()
    }

    func make(_ kind: Keyslot.Kind, _ secret: String) async throws -> Keyslot {
        try await SecretKeyslot.make(
            kind, for: account, vaultKey: vaultKey, secret: SecretBytes(utf8: secret), keyService: keyService,
            parameters: .insecureForTests, now: now)
    }

    func open(_ slot: Keyslot, _ secret: String, as account: Account? = nil) async throws -> VaultKey {
        try await SecretKeyslot.open(
            slot, of: account ?? self.account, secret: SecretBytes(utf8: secret), keyService: keyService,
            cost: .insecureForTests
        ).vaultKey
    }

    func makeOffline(_ password: String) async throws -> Keyslot {
        try await OfflineKeyslot.make(
            for: account, vaultKey: vaultKey, password: SecretBytes(utf8: password), parameters: .insecureForTests,
            now: now)
    }

    func openOffline(
        _ slot: Keyslot, _ password: String, as account: Account? = nil, cost: Argon2Parameters = .insecureForTests
    ) async throws -> VaultKey? {
        try await OfflineKeyslot.open(
            slot, of: account ?? self.account, password: SecretBytes(utf8: password), cost: cost)
    }

    func make(_ provider: any BiometricProvider, pin: String, needsKeyService: Bool = true) async throws -> Keyslot {
        try await HardwareKeyslot.make(
            for: account, vaultKey: vaultKey, provider: provider, prompt: ScriptedPrompt(pin),
            keyService: needsKeyService ? keyService : nil, now: now)
    }

    func open(
        _ slot: Keyslot, _ provider: any BiometricProvider, pin: String, as account: Account? = nil
    ) async throws -> VaultKey {
        try await HardwareKeyslot.open(
            slot, of: account ?? self.account, provider: provider, prompt: ScriptedPrompt(pin), keyService: keyService)
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
            keyID: keyID ?? self.keyID, wrapped: wrapped ?? self.wrapped, createdAt: createdAt, label: label,
            lastUsedAt: lastUsedAt, protection: protection ?? self.protection)
    }
}

/// A recovery code as text.
func newRecoveryCode() throws -> String {
    let code = try RecoveryCode.random().utf8String()
    return try #require(code)
}

/// The code of the ``KeyServiceError`` that `body` throws; nil when it throws none, or another one.
func keyServiceCode(_ body: () async throws -> Void) async -> KeyServiceError.Code? {
    do {
        try await body()
        return nil
    } catch {
        return (error as? KeyServiceError)?.code
    }
}

/// The code of the ``BiometricError`` that `body` throws; nil when it throws none, or another one.
func biometricCode(_ body: () async throws -> Void) async -> BiometricError.Code? {
    do {
        try await body()
        return nil
    } catch {
        return (error as? BiometricError)?.code
    }
}
