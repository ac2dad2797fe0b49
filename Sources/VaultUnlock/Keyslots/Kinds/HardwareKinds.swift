internal import VaultBase
public import VaultBiometric
package import VaultStorage

extension UnlockMethod {
    /// A hardware key: a PKCS#11 token, a TPM, a security key, or an app's own hardware.
    ///
    /// - Parameters:
    ///   - provider: the hardware.
    ///   - prompt: asks the person for the hardware's PIN.
    public static func hardware(_ provider: any BiometricProvider, _ prompt: any BiometricPrompt) -> UnlockMethod {
        UnlockMethod(Keyslot.Kind(rawValue: provider.kind), .hardware(provider, prompt))
    }
}

extension Accounts {
    /// Adds a hardware key, or the keyring of the desktop. A new keyring replaces the old one.
    ///
    /// - Parameters:
    ///   - opensOffline: whether the hardware opens the account without the key service. Only for hardware that counts
    ///     wrong PINs itself. The key service then cannot end the unlock method. Always true for an account without a
    ///     key service.
    ///   - label: the person's name for it; nil for the hardware's own label.
    ///   - allowsUnlimitedGuesses: whether the hardware may let a thief try all PINs.
    ///   - skipsPINRule: whether the PIN that a TPM gets may be easy to guess.
    @discardableResult
    package func addHardware(
        _ provider: any BiometricProvider, prompt: any BiometricPrompt, to account: Account, vaultKey: VaultKey,
        opensOffline: Bool = false, label: String? = nil, allowsUnlimitedGuesses: Bool = false,
        skipsPINRule: Bool = false
    ) async throws -> Keyslot {
        let kind = Keyslot.Kind(rawValue: provider.kind)
        try requireAllowed(kind)
        try account.requireKeyService(forNew: kind)
        let opensOffline = opensOffline || !account.hasKeyService
        if opensOffline { try requireAllowed(.offline) }
        let prompt: any BiometricPrompt =
            kind.takesNewPIN
            ? NewPINPrompt(base: prompt, policy: policy, names: account.names, skipsPINRule: skipsPINRule) : prompt
        do {
            // Without the key service, a stricter rule applies below.
            if kind.hasProvider, !opensOffline, !allowsUnlimitedGuesses { try await requireGuessLimit(of: provider) }
            try await requireMayAddKeyslot(to: account)
            let keys: any SlotKeyProtocol = opensOffline ? LocalKeys() : try await newKeys(for: account)
            let draft = try await KeyslotDraft.hardware(
                provider, prompt: prompt, needsKeyService: !opensOffline, at: clock.now)
            do {
                var slot = try await keys.make(draft, for: account, vaultKey: vaultKey)
                if let label { slot.label = label }
                FaultPoint.keyslotMade.reach()
                try await putOrDiscard(slot, in: account, vaultKey)
                await forgetReplaced(kind, of: account, provider)
                return slot
            } catch {
                if let protected = draft.protected { await provider.forget(protected) }
                throw error
            }
        } catch {
            throw VaultError.converting(error, unlockMethod: kind)
        }
    }

    /// Lets a provider forget the secret of the keyslot that a new one replaced. There can be several pieces of
    /// hardware, so none of them is replaced.
    private func forgetReplaced(_ kind: Keyslot.Kind, of account: Account, _ provider: any BiometricProvider) async {
        for old in account.keyslots where old.kind == kind && !kind.isHardware {
            if let protected = try? old.protectedSecret() { await provider.forget(protected) }
        }
    }

    /// Removes all hardware keys, or none.
    ///
    /// - Throws: ``VaultError`` with code `lastUnlockMethod` if no other unlock method opens the account with the
    ///   network: add one first. Then nothing was changed.
    package func removeHardware(of account: AccountID) async throws {
        try await remove(from: account) { $0.keyslotIDs(where: \.isHardware) }
    }
}
