internal import KeyServiceClient
internal import VaultBase
public import VaultBiometric
internal import VaultHTTP
package import VaultStorage

extension UnlockMethod {
    /// A hardware key: a PKCS#11 token, a TPM, a security key, or an app's own hardware.
    ///
    /// - Parameters:
    ///   - provider: the hardware.
    ///   - prompt: asks the person for the hardware's PIN.
    public static func hardware(_ provider: any BiometricProvider, _ prompt: any BiometricPrompt) -> UnlockMethod {
        UnlockMethod(Keyslot.Kind(rawValue: provider.kind), HardwareOpener(provider: provider, prompt: prompt))
    }
}

/// Opens a keyslot with hardware.
struct HardwareOpener: KeyslotOpener {
    let provider: any BiometricProvider
    let prompt: any BiometricPrompt

    /// Chooses the keyslot whose hardware is there. If there is none, the first one's error says best what is missing.
    func choose(from slots: [Keyslot]) async -> Keyslot? {
        for slot in slots {
            guard let protected = try? HardwareKeyslot.protectedSecret(of: slot) else { continue }
            if await provider.availability(of: protected) == .available { return slot }
        }
        return slots.first
    }

    func open(
        _ slot: Keyslot, of account: Account, in accounts: Accounts, spendsLastGuess: Bool
    ) async throws -> OpenedKeyslot {
        if !slot.needsKeyService { try accounts.requireRecentlyOnline(account) }
        if slot.keyServiceProtocol == 2 {
            return try await HardwareKeyslot.open(
                slot, of: account, provider: provider, prompt: prompt, in: accounts, spendsLastGuess: spendsLastGuess)
        }
        let opened = try await HardwareKeyslot.opened(
            slot, of: account, provider: provider, prompt: prompt,
            keyService: accounts.keyService(account.keyServiceURL))
        return OpenedKeyslot(vaultKey: opened.vaultKey).remaking(slot, of: account, opened.secret)
    }
}

extension Accounts {
    /// Adds a hardware key.
    ///
    /// - Parameters:
    ///   - opensOffline: whether the hardware opens the account without the key service. Only for hardware that counts
    ///     wrong PINs itself. The key service then cannot end the way in.
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
        if opensOffline { try requireAllowed(.offline) }
        let prompt: any BiometricPrompt =
            kind.takesNewPIN
            ? NewPINPrompt(base: prompt, policy: policy, names: account.names, skipsPINRule: skipsPINRule) : prompt
        do {
            // Without the key service, a stricter rule applies below.
            if kind.isHardware, !opensOffline, !allowsUnlimitedGuesses { try await requireGuessLimit(of: provider) }
            try await requireMayAddWay(to: account)
            var slot: Keyslot
            if !opensOffline, let oblivious = try await obliviousMaker(account) {
                slot = try await HardwareKeyslot.make(
                    vaultKey: vaultKey, provider: provider, prompt: prompt, oblivious: oblivious, now: clock.now)
            } else {
                slot = try await HardwareKeyslot.make(
                    for: account, vaultKey: vaultKey, provider: provider, prompt: prompt,
                    keyService: opensOffline ? nil : keyService(account.keyServiceURL), now: clock.now)
            }
            if let label { slot.label = label }
            FaultPoint.keyslotMade.reach()
            try await putOrDiscard(slot, in: account, vaultKey)
            return slot
        } catch {
            throw VaultError.converting(error)
        }
    }

    /// Removes all hardware keys, or none.
    ///
    /// - Throws: ``VaultError`` with code `lastWayIn` if no other way in opens the account with the network: add one
    ///   first. Then nothing was changed.
    package func removeHardware(of account: AccountID) async throws {
        try await remove(from: account) { $0.keyslotIDs(where: \.isHardware) }
    }
}
