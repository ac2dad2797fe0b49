public import VaultCrypto
package import VaultStorage

/// Keyslots that need no key service: the password alone, or hardware that counts wrong PINs itself.
///
/// A thief who has the disk can test one password for each Argon2id. So such a keyslot is made only on request, and its
/// Argon2id costs much more.
package struct LocalKeys: UnconfirmedKeys {
    package var inputSize: Int { 32 }

    package init() {}

    package func make(_ draft: KeyslotDraft, for account: Account, vaultKey: VaultKey) async throws -> Keyslot {
        let protection = try draft.protected.map { try HardwareData($0).encoded() } ?? []
        let slotKey = try Self.slotKey(draft.kind, draft.input, slotID: draft.id, protection: protection)
        return try draft.keyslot(
            of: account.id, sealing: vaultKey, under: slotKey, key: nil, protection: protection,
            hasKeyService: account.hasKeyService)
    }

    /// - Throws: ``VaultError`` with code `wrongSecret` if the password is wrong or the slot is damaged. Without the key
    ///   service nobody can tell which. ``StoreError`` with code `corrupt` if somebody gave the account a key service,
    ///   or took it away.
    package func open(
        _ slot: Keyslot, of account: Account, input: SharedSecret, spendsLastGuess: Bool
    ) async throws -> OpenedKeyslot {
        guard slot.kind == .offline || slot.kind == .password || slot.kind.isHardware, slot.keyID.isEmpty else {
            throw StoreError(.corrupt, "A keyslot of the kind \(slot.kind.rawValue) does not open offline.")
        }
        let slotKey = try Self.slotKey(slot.kind, input, slotID: slot.id, protection: slot.protection)
        do {
            return OpenedKeyslot(
                vaultKey: try slot.vaultKey(
                    underRight: slotKey, of: account.id, hasKeyService: account.hasKeyService))
        } catch let error as StoreError where error.code == .corrupt {
            let other = try? slot.vaultKey(
                underRight: slotKey, of: account.id, hasKeyService: !account.hasKeyService)
            guard other == nil else {
                throw StoreError(
                    .corrupt,
                    "The secret is right, but the key service of \(account.displayName) was changed in the store. Nothing was opened. Restore the store from a backup, or register again.",
                    underlying: error)
            }
            // The password of an account with a key service never opens without that service.
            guard slot.kind == .offline || slot.kind == .password && !account.hasKeyService else { throw error }
            throw VaultError(.wrongSecret, "Wrong password.", underlying: error)
        }
    }

    /// Without a key service there is no key to end.
    package func end(_ key: RetiredKey) async throws {}

    private static func slotKey(
        _ kind: Keyslot.Kind, _ input: SharedSecret, slotID: String, protection: [UInt8]
    ) throws -> SecretBytes {
        guard kind.isHardware else {
            return try StretchedPassword(stretched: input.bytes.copy()).offlineSlotKey(slotID: slotID)
        }
        // As with the key service, nobody can change the data beside the wrapped key unnoticed.
        return try KeyDerivation.hkdf(
            input.bytes, salt: Checksum.of([protection]),
            info: "credential-vault/v1/hardware/offline-slot-key" + slotID)
    }
}

extension Argon2Parameters {
    /// The cost of one guess at a keyslot that needs no key service: 4 passes over 256 MiB in 4 lanes.
    public static let withoutKeyService = Argon2Parameters(passes: 4, memoryKiB: 256 * 1024, lanes: 4)
}
