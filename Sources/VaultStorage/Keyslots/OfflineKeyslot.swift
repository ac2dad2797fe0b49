public import Foundation
public import VaultCrypto

/// Makes and opens keyslots of the kind `offline`, which need no key service: whoever has the disk can test one guess for
/// each Argon2id. That is why such a keyslot is made only on request, and why its Argon2id costs much more.
public enum OfflineKeyslot {
    /// The cost of one guess: 4 passes over 256 MiB in 4 lanes.
    public static let standardCost = Argon2Parameters(passes: 4, memoryKiB: 256 * 1024, lanes: 4)

    /// Makes a keyslot for `vaultKey`. Nothing is stored yet.
    ///
    /// - Parameters:
    ///   - account: whose vault key it is; its device secret goes into the password's stretching.
    ///   - vaultKey: the vault key that the keyslot will hold.
    ///   - password: as typed, UTF-8.
    ///   - parameters: the cost of Argon2id.
    ///   - now: when the slot is made.
    /// - Throws: `VaultCryptoError` with code `invalidPassword` or `outOfMemory`.
    public static func make(
        for account: Account, vaultKey: VaultKey, password: borrowing SecretBytes,
        parameters: Argon2Parameters = standardCost, now: Date
    ) async throws -> Keyslot {
        let id = UUID().uuidString.lowercased()
        let salt = try SecretBytes.random(count: 16).withUnsafeBytes { Array($0) }
        let stretched = try await StretchedPassword(
            password: password, salt: salt, deviceSecret: SecretBytes(copying: account.deviceSecret),
            parameters: parameters)
        let wrapped = try vaultKey.wrapped(
            under: stretched.offlineSlotKey(slotID: id), .offline, of: account.id, slotID: id, keyID: "")
        return Keyslot(
            id: id, kind: .offline, salt: salt, argon2: parameters, keyID: "", wrapped: wrapped, createdAt: now)
    }

    /// Opens a keyslot.
    ///
    /// - Parameters:
    ///   - slot: the keyslot to open.
    ///   - account: the account that it belongs to.
    ///   - password: as typed, UTF-8.
    ///   - cost: what new keyslots get. A slot that costs a guesser much less was tampered with.
    /// - Returns: nil when the password is wrong, or the slot damaged: without the key service nobody can tell.
    /// - Throws: ``StoreError`` with code `corrupt` when the slot's parameters are impossible; `VaultCryptoError`.
    public static func open(
        _ slot: Keyslot, of account: Account, password: borrowing SecretBytes, cost: Argon2Parameters = standardCost
    ) async throws -> VaultKey? {
        guard slot.kind == .offline, slot.keyID.isEmpty else {
            throw StoreError(.corrupt, "A keyslot of the kind \(slot.kind.rawValue) does not open offline.")
        }
        let stretched = try await slot.stretched(
            password, of: account, floor: (passes: 3, memoryKiB: 128 * 1024), cost: cost)
        do {
            return try slot.vaultKey(under: stretched.offlineSlotKey(slotID: slot.id), of: account.id)
        } catch let error as VaultCryptoError where error.code != .outOfMemory {
            return nil
        }
    }
}
