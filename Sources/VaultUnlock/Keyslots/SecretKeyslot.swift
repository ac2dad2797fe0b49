public import Foundation
public import KeyServiceClient
public import VaultCrypto
public import VaultStorage

/// Makes and opens keyslots whose secret a person types: password, PIN, recovery code. Each takes one Argon2id here and
/// one call to the key service. Each has its own key at the service, so locking one does not lock the others.
public enum SecretKeyslot {
    /// The least cost of any keyslot.
    static let leastCost: (passes: UInt32, memoryKiB: UInt32) = (passes: 2, memoryKiB: 19 * 1024)

    /// The kinds that this type makes and opens.
    public static let kinds: Set<Keyslot.Kind> = Set(Keyslot.Kind.known.filter(\.isTyped))

    /// Makes a keyslot for `vaultKey`: a new key at the key service, and the vault key sealed under it and the secret.
    ///
    /// Stores nothing yet. If the caller then cannot store the slot, the key at the service is simply unused.
    ///
    /// - Parameters:
    ///   - kind: one of ``kinds``.
    ///   - account: the account of the vault key. Its device secret goes into the stretching of the secret.
    ///   - vaultKey: the vault key that the keyslot will hold.
    ///   - secret: as typed, UTF-8. For the kind `recovery`, a `RecoveryCode`.
    ///   - keyService: the key service that makes the key of the keyslot.
    ///   - parameters: the cost of Argon2id.
    ///   - now: the time when the slot is made.
    /// - Throws: `VaultCryptoError` with code `invalidPassword` (ask for another password) or `invalidRecovery`;
    ///   `KeyServiceError`.
    public static func make(
        _ kind: Keyslot.Kind, for account: Account, vaultKey: VaultKey, secret: borrowing SecretBytes,
        keyService: any KeyService, parameters: Argon2Parameters, now: Date
    ) async throws -> Keyslot {
        guard kind.isTyped else {
            throw VaultCryptoError(.invalidInput, "A keyslot of the kind \(kind.rawValue) has no secret to type.")
        }
        let id = UUID().uuidString.lowercased()
        let salt = try SecretBytes.random(count: 16).withUnsafeBytes { Array($0) }
        let deviceSecret = try SecretBytes(copying: account.deviceSecret)
        let stretched = try await StretchedPassword(
            password: kind.traits.prepared(secret), salt: salt, deviceSecret: deviceSecret, parameters: parameters,
            name: kind.secretName)
        let released = try await keyService.createKey(secret: stretched.authSecret())
        let slotKey = try stretched.slotKey(releasedKey: released.key, slotID: id)
        let wrapped = try vaultKey.wrapped(
            under: slotKey, kind, of: account.id, slotID: id, keyID: released.id)
        return Keyslot(
            id: id, kind: kind, salt: salt, argon2: parameters, keyID: released.id, wrapped: wrapped,
            createdAt: now)
    }

    /// Opens a keyslot. A wrong secret costs one guess at the key service. A guess that was cancelled, or that the
    /// service did not answer, may also count.
    ///
    /// - Parameters:
    ///   - slot: the keyslot to open.
    ///   - account: the account of the keyslot.
    ///   - secret: as typed, UTF-8.
    ///   - keyService: the key service that has the key of the keyslot.
    ///   - cost: the cost of new keyslots. A slot with a much lower cost was changed by a thief.
    /// - Throws: `VaultCryptoError` with code `invalidPassword` or `invalidRecovery`: no guess was counted, so ask
    ///   again. `KeyServiceError` with code `wrongSecret` (ask again), `keyLocked`, `noSuchKey`, `unavailable` (try
    ///   again later), `invalidAnswer`, `invalidURL` or `configurationInvalid`. ``StoreError`` with code `corrupt` if
    ///   the secret is right but the stored slot does not open: it was changed.
    public static func open(
        _ slot: Keyslot, of account: Account, secret: borrowing SecretBytes, keyService: any KeyService,
        cost: Argon2Parameters
    ) async throws -> OpenedKeyslot {
        guard slot.kind.isTyped, slot.check.isEmpty else {
            throw StoreError(.corrupt, "A keyslot of the kind \(slot.kind.rawValue) has no secret to type.")
        }
        let stretched = try await slot.stretched(
            slot.kind.traits.prepared(secret), of: account, floor: leastCost, cost: cost)
        let released = try await keyService.releaseKey(id: slot.keyID, secret: stretched.authSecret(), kind: .secret)
        let slotKey = try stretched.slotKey(releasedKey: released.key, slotID: slot.id)
        do {
            let vaultKey = try slot.vaultKey(under: slotKey, of: account.id)
            return OpenedKeyslot(vaultKey: vaultKey, wrongGuesses: released.wrongGuesses)
        } catch let error as VaultCryptoError where error.code != .outOfMemory {
            throw StoreError(
                .corrupt,
                "The secret is right, but the stored keyslot is damaged and does not open. Use another way in.",
                underlying: error)
        }
    }
}

/// The result of opening a keyslot.
public struct OpenedKeyslot: Sendable {
    /// The vault key from the keyslot.
    public let vaultKey: VaultKey
    /// The wrong guesses since the last right one. If there were any, somebody may have a copy of the keyslot. Make it
    /// again with a new key, and end the old key.
    public let wrongGuesses: WrongGuesses?
    /// The message that takes back the try; nil for protocol version 1. It must be stored before the session begins.
    let confirmation: KeyConfirmation?
    /// Whether the store has the confirmation.
    var isConfirmationStored = false
    /// The times of open tries that were not made with this store, by the service's clock. Oldest first.
    let triesElsewhere: [Date]
    /// A later question about open tries that were too young to judge; nil if there were none.
    var laterQuestion: LaterQuestion?
    /// The time of the try by the service's clock, which the service's answer proves; nil if it does not tell.
    var serviceTime: Date?
    /// Makes the keyslot of hardware again, with a new key, for a vault key; nil if a person types the secret.
    var remake: (@Sendable (Accounts, VaultKey) async throws -> Keyslot)?

    /// Makes the result of opening a keyslot.
    ///
    /// - Parameters:
    ///   - vaultKey: the vault key that the keyslot held.
    ///   - wrongGuesses: the wrong guesses since the last right one; nil for none.
    public init(vaultKey: VaultKey, wrongGuesses: WrongGuesses? = nil) {
        self.vaultKey = vaultKey
        self.wrongGuesses = wrongGuesses
        confirmation = nil
        triesElsewhere = []
    }

    init(vaultKey: VaultKey, confirmation: KeyConfirmation, triesElsewhere: [Date]) {
        self.vaultKey = vaultKey
        wrongGuesses = nil
        self.confirmation = confirmation
        self.triesElsewhere = triesElsewhere
    }
}
