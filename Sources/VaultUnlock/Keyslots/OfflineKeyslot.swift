public import Foundation
public import VaultCrypto
public import VaultStorage

/// Makes and opens keyslots of the kind `offline`, which need no key service. A thief who has the disk can test one
/// guess for each Argon2id. So such a keyslot is made only on request, and its Argon2id costs much more.
public enum OfflineKeyslot {
    /// The cost of one guess: 4 passes over 256 MiB in 4 lanes.
    public static let standardCost = Argon2Parameters(passes: 4, memoryKiB: 256 * 1024, lanes: 4)

    /// Makes a keyslot for `vaultKey`. Nothing is stored yet.
    ///
    /// - Parameters:
    ///   - account: the account of the vault key. Its device secret goes into the stretching of the password.
    ///   - vaultKey: the vault key that the keyslot will hold.
    ///   - password: as typed, UTF-8.
    ///   - parameters: the cost of Argon2id.
    ///   - now: the time when the slot is made.
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
    ///   - account: the account of the keyslot.
    ///   - password: as typed, UTF-8.
    ///   - cost: the cost of new keyslots. A slot with a much lower cost was changed by a thief.
    /// - Returns: nil if the password is wrong or the slot is damaged. Without the key service nobody can tell which.
    /// - Throws: ``StoreError`` with code `corrupt` if the slot's parameters are impossible; `VaultCryptoError`.
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
