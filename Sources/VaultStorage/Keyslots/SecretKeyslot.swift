public import Foundation
public import KeyService
public import VaultCrypto

/// Makes and opens keyslots whose secret a person types: password, PIN, recovery code. One Argon2id here, one call to the
/// key service, where each has a key of its own: locking one leaves the others.
public enum SecretKeyslot {
    /// The kinds that it makes and opens.
    public static let kinds: Set<Keyslot.Kind> = Set(Keyslot.Kind.known.filter(\.isTyped))

    /// Makes a keyslot for `vaultKey`: a new key at the key service, and the vault key sealed under it and the secret.
    ///
    /// Nothing is stored yet. When the caller then fails to store the slot, the key at the service is simply unused.
    ///
    /// - Parameters:
    ///   - kind: one of ``kinds``.
    ///   - account: whose vault key it is; its device secret goes into the secret's stretching.
    ///   - vaultKey: the vault key that the keyslot will hold.
    ///   - secret: as typed, UTF-8; of the kind `recovery`, a `RecoveryCode`.
    ///   - keyService: the key service that makes the key of the keyslot.
    ///   - parameters: the cost of Argon2id.
    ///   - now: when the slot is made.
    /// - Throws: `VaultCryptoError` (`invalidPassword`: ask for another; `invalidRecovery`), `KeyServiceError`.
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

    /// Opens a keyslot. A wrong secret costs one guess at the key service. So may one that was cancelled, or that the
    /// service did not answer.
    ///
    /// - Parameters:
    ///   - slot: the keyslot to open.
    ///   - account: the account that it belongs to.
    ///   - secret: as typed, UTF-8.
    ///   - keyService: the key service that has the key of the keyslot.
    ///   - cost: what new keyslots get. A slot that costs a guesser much less was tampered with.
    /// - Throws: `VaultCryptoError` (`invalidPassword`, `invalidRecovery`: no guess was spent, ask again);
    ///   `KeyServiceError` (`wrongSecret`, `keyLocked`, `noSuchKey`, `unavailable`, `invalidAnswer`, `invalidURL`,
    ///   `configurationInvalid`); ``StoreError`` with code `corrupt` when the key service found the secret right but
    ///   the slot still does not open: what is stored was changed.
    public static func open(
        _ slot: Keyslot, of account: Account, secret: borrowing SecretBytes, keyService: any KeyService,
        cost: Argon2Parameters
    ) async throws -> OpenedKeyslot {
        guard slot.kind.isTyped else {
            throw StoreError(.corrupt, "A keyslot of the kind \(slot.kind.rawValue) has no secret to type.")
        }
        let stretched = try await slot.stretched(
            slot.kind.traits.prepared(secret), of: account, floor: (passes: 2, memoryKiB: 19 * 1024), cost: cost)
        let released = try await keyService.releaseKey(id: slot.keyID, secret: stretched.authSecret(), kind: .secret)
        let slotKey = try stretched.slotKey(releasedKey: released.key, slotID: slot.id)
        do {
            let vaultKey = try slot.vaultKey(under: slotKey, of: account.id)
            return OpenedKeyslot(vaultKey: vaultKey, wrongGuesses: released.wrongGuesses)
        } catch let error as VaultCryptoError where error.code != .outOfMemory {
            throw StoreError(
                .corrupt, "The secret is right, but the stored keyslot is damaged and does not open.",
                underlying: error)
        }
    }
}

/// What came of opening a keyslot.
public struct OpenedKeyslot: Sendable {
    /// What it held.
    public let vaultKey: VaultKey
    /// The wrong guesses since the last right one. If there were any, somebody may have a copy of the keyslot: make it
    /// again with a new key, and end the old one.
    public let wrongGuesses: WrongGuesses?

    /// Makes the result of opening a keyslot.
    ///
    /// - Parameters:
    ///   - vaultKey: the vault key that the keyslot held.
    ///   - wrongGuesses: the wrong guesses since the last right one; nil for none.
    public init(vaultKey: VaultKey, wrongGuesses: WrongGuesses? = nil) {
        self.vaultKey = vaultKey
        self.wrongGuesses = wrongGuesses
    }
}

extension SealingContext {
    /// What a keyslot's wrapped vault key is bound to.
    static func keyslot(_ kind: Keyslot.Kind, of id: AccountID, slotID: String, keyID: String) -> SealingContext {
        SealingContext(
            purpose: "credential-vault/v1/keyslot/\(kind.rawValue)", issuer: id.issuer, subject: id.subject, id: slotID,
            keyID: keyID)
    }
}
