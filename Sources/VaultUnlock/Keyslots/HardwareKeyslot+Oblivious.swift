internal import Foundation
internal import KeyServiceClient
internal import VaultBiometric
internal import VaultCrypto
internal import VaultStorage

// Keyslots of hardware with protocol version 2. The hardware's secret takes the place of the stretched password.
extension HardwareKeyslot {
    /// Makes a keyslot. Stores no keyslot yet.
    static func make(
        vaultKey: VaultKey, provider: any BiometricProvider, prompt: any BiometricPrompt, oblivious: ObliviousKeyslot,
        now: Date
    ) async throws -> Keyslot {
        let (secret, protected) = try await enrol(provider, prompt: prompt)
        return try await make(
            Keyslot.Kind(rawValue: provider.kind), secret, protected, vaultKey: vaultKey, oblivious: oblivious,
            now: now)
    }

    /// Opens a keyslot of version 2.
    static func open(
        _ slot: Keyslot, of account: Account, provider: any BiometricProvider, prompt: any BiometricPrompt,
        in accounts: Accounts, spendsLastGuess: Bool
    ) async throws -> OpenedKeyslot {
        let secret = try await unprotect(slot, provider: provider, prompt: prompt)
        let stretched = SharedSecret(try ObliviousKeys.stretched(hardware: secret.bytes, id: slot.keyID))
        return try await accounts.openOblivious(
            slot, of: account, stretched: stretched, spendsLastGuess: spendsLastGuess
        )
        .remaking(slot, of: account, secret)
    }

    /// Makes a keyslot for the same hardware again, with a new key. The hardware and the person have nothing to do.
    static func remake(
        _ slot: Keyslot, _ secret: SharedSecret, vaultKey: VaultKey, oblivious: ObliviousKeyslot
    ) async throws -> Keyslot {
        try await make(
            slot.kind, secret, protectedSecret(of: slot), vaultKey: vaultKey, oblivious: oblivious,
            now: slot.createdAt)
    }

    private static func make(
        _ kind: Keyslot.Kind, _ secret: SharedSecret, _ protected: ProtectedSecret, vaultKey: VaultKey,
        oblivious: ObliviousKeyslot, now: Date
    ) async throws -> Keyslot {
        let keyID = UUID().uuidString.lowercased()
        return try await oblivious.make(
            .init(
                kind: kind, keyID: keyID,
                stretched: SharedSecret(ObliviousKeys.stretched(hardware: secret.bytes, id: keyID)),
                protection: { try encoded(protected, longSecret: nil, serviceKey: $0) }, label: protected.label,
                createdAt: now),
            vaultKey: vaultKey)
    }
}

extension OpenedKeyslot {
    /// Adds the way to make a keyslot of hardware again.
    func remaking(_ slot: Keyslot, of account: Account, _ secret: SharedSecret) -> OpenedKeyslot {
        var opened = self
        opened.remake = { accounts, vaultKey in
            guard let oblivious = try await accounts.obliviousMaker(account) else {
                throw VaultError(.configurationInvalid, "The key service has only protocol version 1.")
            }
            return try await HardwareKeyslot.remake(slot, secret, vaultKey: vaultKey, oblivious: oblivious)
        }
        return opened
    }
}
