internal import KeyService
public import VaultBiometric
internal import VaultHTTP

extension Keyslot.Kind {
    /// A PKCS#11 token, and the long secret of a key at the key service under it.
    public static let pkcs11 = Keyslot.Kind(rawValue: "pkcs11")
    /// A TPM 2.0, likewise.
    public static let tpm2 = Keyslot.Kind(rawValue: "tpm2")
    /// A FIDO2 security key, likewise.
    public static let fido2 = Keyslot.Kind(rawValue: "fido2")
}

extension KeyslotTraits {
    static let pkcs11 = KeyslotTraits(kind: .pkcs11, displayName: "token", check: .hardware)
    static let tpm2 = KeyslotTraits(kind: .tpm2, displayName: "TPM", check: .hardware, takesNewPIN: true)
    static let fido2 = KeyslotTraits(kind: .fido2, displayName: "security key", check: .hardware)
}

extension UnlockMethod {
    /// A hardware key: a PKCS#11 token, a TPM, a security key, or hardware of an app's own.
    ///
    /// - Parameters:
    ///   - provider: the hardware.
    ///   - prompt: asks the person for its PIN.
    public static func hardware(_ provider: any BiometricProvider, _ prompt: any BiometricPrompt) -> UnlockMethod {
        UnlockMethod(Keyslot.Kind(rawValue: provider.kind), HardwareOpener(provider: provider, prompt: prompt))
    }
}

/// Opens a keyslot with hardware.
struct HardwareOpener: KeyslotOpener {
    let provider: any BiometricProvider
    let prompt: any BiometricPrompt

    /// Of several keyslots of one kind, the one whose hardware is there. If there is none, the first says best what is
    /// missing.
    func choose(from slots: [Keyslot]) async -> Keyslot? {
        for slot in slots {
            guard let protected = try? HardwareKeyslot.protectedSecret(of: slot) else { continue }
            if await provider.availability(of: protected) == .available { return slot }
        }
        return slots.first
    }

    func open(_ slot: Keyslot, of account: Account, in accounts: Accounts) async throws -> OpenedKeyslot {
        if !slot.needsKeyService { try accounts.requireRecentlyOnline(account) }
        return OpenedKeyslot(
            vaultKey: try await HardwareKeyslot.open(
                slot, of: account, provider: provider, prompt: prompt,
                keyService: accounts.keyService(account.keyServiceURL)))
    }
}

extension Accounts {
    /// Adds a hardware key.
    ///
    /// - Parameters:
    ///   - opensOffline: whether it is to open the account without the key service. Only for hardware that counts wrong
    ///     PINs itself; it cannot be ended at the key service then.
    ///   - label: what the person calls it; nil for its own label.
    @discardableResult
    package func addHardware(
        _ provider: any BiometricProvider, prompt: any BiometricPrompt, to account: Account, vaultKey: VaultKey,
        opensOffline: Bool = false, label: String? = nil
    ) async throws -> Keyslot {
        let kind = Keyslot.Kind(rawValue: provider.kind)
        try requireAllowed(kind)
        if opensOffline { try requireAllowed(.offline) }
        let prompt: any BiometricPrompt = kind.takesNewPIN ? NewPINPrompt(base: prompt, policy: policy) : prompt
        do {
            var slot = try await HardwareKeyslot.make(
                for: account, vaultKey: vaultKey, provider: provider, prompt: prompt,
                keyService: opensOffline ? nil : keyService(account.keyServiceURL), now: clock.now)
            if let label { slot.label = label }
            FaultPoint.keyslotMade.reach()
            try await putOrDiscard(slot, in: account, vaultKey)
            return slot
        } catch {
            throw VaultError.converting(error)
        }
    }

    /// Removes every hardware key: all of them, or none.
    ///
    /// - Throws: ``VaultError`` with code `lastWayIn` when nothing would be left that opens the account with the network.
    ///   Nothing was changed then.
    package func removeHardware(of account: AccountID) async throws {
        try await remove(from: account) { $0.keyslotIDs(where: \.isHardware) }
    }
}
