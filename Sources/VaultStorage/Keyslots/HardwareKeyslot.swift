public import Foundation
public import KeyService
public import VaultBiometric
internal import VaultCrypto

/// Makes and opens keyslots that hardware protects. The hardware holds a random key; under it lies the long secret of a
/// key at the key service, so an unlock still goes through the service, can be ended there, and leaves a trace. Only
/// hardware that counts wrong PINs itself, so that whoever has it cannot start the count anew, may do without the service,
/// and only on request.
///
/// Whoever can write the disk can put another keyslot in its place if something can be protected without the PIN (with a
/// token's public key, say). It opens a vault key of theirs, which opens none of the account's items.
public enum HardwareKeyslot {
    /// The most bytes that a provider may need to open its part.
    public static let maximumProtectedSize = 64 * 1024

    /// What is stored beside the wrapped vault key.
    private struct Protection: Codable {
        var version = 1
        /// What the provider needs.
        let provider: Data
        let label: String
        /// The long secret, sealed under the key that the hardware holds; nil for a slot that needs no key service.
        let longSecret: Data?
    }

    /// Makes a keyslot for `vaultKey`. Nothing is stored yet.
    ///
    /// - Parameters:
    ///   - account: whose vault key it is.
    ///   - vaultKey: the vault key that the keyslot will hold.
    ///   - provider: the hardware.
    ///   - prompt: asks the person for its PIN.
    ///   - keyService: where the slot's key is made; nil for a slot that needs no key service.
    ///   - now: when the slot is made.
    /// - Throws: `BiometricError`, `KeyServiceError`.
    public static func make(
        for account: Account, vaultKey: VaultKey, provider: any BiometricProvider, prompt: any BiometricPrompt,
        keyService: (any KeyService)?, now: Date
    ) async throws -> Keyslot {
        if keyService == nil { try await requireGuessLimit(of: provider) }
        let kind = Keyslot.Kind(rawValue: provider.kind)
        guard kind.isHardware else {
            throw BiometricError(.failed, "Hardware cannot make a keyslot of the kind \(kind.rawValue).")
        }
        let id = UUID().uuidString.lowercased()
        let secret = try SecretBytes.random(count: 32)
        let protected = try await provider.protect(secret, prompt: prompt)
        guard protected.bytes.count <= maximumProtectedSize else {
            throw BiometricError(.failed, "The hardware needs more to be stored than there is room for.")
        }
        var keyID = ""
        var longSecret: Data?
        var releasedKey: SharedSecret?
        if let keyService {
            // Nobody needs this secret again: the long one that the service makes is the way in.
            let released = try await keyService.createKey(secret: AuthSecret.random())
            keyID = released.id
            longSecret = Data(
                try SealedEnvelope.seal(
                    released.longSecret, key: longSecretKey(secret),
                    context: longSecretContext(account.id, slotID: id, keyID: keyID)))
            releasedKey = SharedSecret(try released.key.copy())
        }
        let protection = Array(
            try JSONEncoder().encode(
                Protection(provider: Data(protected.bytes), label: protected.label, longSecret: longSecret)))
        let slotKey = try slotKey(secret, releasedKey: releasedKey, slotID: id, protection: protection)
        let wrapped = try vaultKey.wrapped(
            under: slotKey, kind, of: account.id, slotID: id, keyID: keyID)
        return Keyslot(
            id: id, kind: kind, salt: [], argon2: Argon2Parameters(passes: 0, memoryKiB: 0, lanes: 0), keyID: keyID,
            wrapped: wrapped, createdAt: now, label: protected.label, protection: protection)
    }

    /// What the provider made, out of a stored keyslot.
    ///
    /// - Throws: ``StoreError`` with code `corrupt`.
    public static func protectedSecret(of slot: Keyslot) throws -> ProtectedSecret {
        let protection = try protection(of: slot)
        return ProtectedSecret(bytes: Array(protection.provider), label: protection.label)
    }

    /// Opens a keyslot.
    ///
    /// - Parameters:
    ///   - slot: the keyslot to open.
    ///   - account: the account that it belongs to.
    ///   - provider: the hardware that opens it.
    ///   - prompt: asks the person for the PIN of the hardware.
    ///   - keyService: not asked for a slot that needs none.
    /// - Throws: `BiometricError`; `KeyServiceError` (`keyLocked`, `noSuchKey`, `unavailable`); ``StoreError`` with code
    ///   `corrupt` when the stored slot was changed.
    public static func open(
        _ slot: Keyslot, of account: Account, provider: any BiometricProvider, prompt: any BiometricPrompt,
        keyService: any KeyService
    ) async throws -> VaultKey {
        guard provider.kind == slot.kind.rawValue else {
            throw BiometricError(
                .notEnrolled, "A keyslot of the kind \(slot.kind.rawValue) does not open with \(provider.kind).")
        }
        let protection = try protection(of: slot)
        let secret = try await provider.unprotect(
            ProtectedSecret(bytes: Array(protection.provider), label: protection.label), prompt: prompt)
        do {
            var releasedKey: SharedSecret?
            if let sealed = protection.longSecret {
                let longSecret = try SealedEnvelope.open(
                    Array(sealed), key: longSecretKey(secret),
                    context: longSecretContext(account.id, slotID: slot.id, keyID: slot.keyID))
                let released = try await keyService.releaseKey(id: slot.keyID, secret: longSecret, kind: .longSecret)
                releasedKey = SharedSecret(try released.key.copy())
            }
            let slotKey = try slotKey(
                secret, releasedKey: releasedKey, slotID: slot.id, protection: slot.protection)
            return try slot.vaultKey(under: slotKey, of: account.id)
        } catch let error as VaultCryptoError where error.code != .outOfMemory {
            throw StoreError(
                .corrupt, "The hardware opened its part, but the stored keyslot is damaged and does not open.",
                underlying: error)
        }
    }

    /// - Throws: `BiometricError` with code `unavailable` when whoever has the hardware can guess without end.
    private static func requireGuessLimit(of provider: any BiometricProvider) async throws {
        switch try await provider.guessLimit() {
        case .firm: break
        case .weak(let reason), .absent(let reason):
            throw BiometricError(.unavailable, "\(reason) It cannot open the account without the key service.")
        }
    }

    private static func protection(of slot: Keyslot) throws -> Protection {
        guard slot.protection.count <= 2 * maximumProtectedSize,
            let protection = try? JSONDecoder().decode(Protection.self, from: Data(slot.protection)),
            protection.version == 1
        else { throw StoreError(.corrupt, "A stored keyslot of the kind \(slot.kind.rawValue) is damaged.") }
        return protection
    }

    /// What of the hardware's key never leaves the machine, joined with what the key service released, if it is asked.
    /// What is stored beside the wrapped key goes in as the salt: none of it, not even the token's name that the person
    /// sees while typing the PIN, can be changed unnoticed.
    private static func slotKey(
        _ secret: borrowing SecretBytes, releasedKey: SharedSecret?, slotID: String, protection: [UInt8]
    ) throws -> SecretBytes {
        let salt = Checksum.of([protection])
        guard let releasedKey else {
            return try KeyDerivation.hkdf(
                secret, salt: salt, info: "credential-vault/v1/hardware/offline-slot-key" + slotID)
        }
        let localShare = try KeyDerivation.hkdf(secret, info: "credential-vault/v1/hardware/local-share")
        return try KeyDerivation.hkdf(
            releasedKey.bytes, localShare, salt: salt, info: "credential-vault/v1/hardware/slot-key" + slotID)
    }

    private static func longSecretKey(_ secret: borrowing SecretBytes) throws -> SecretBytes {
        try KeyDerivation.hkdf(secret, info: "credential-vault/v1/hardware/long-secret")
    }

    private static func longSecretContext(_ id: AccountID, slotID: String, keyID: String) -> SealingContext {
        SealingContext(
            purpose: "credential-vault/v1/hardware/long-secret", issuer: id.issuer, subject: id.subject, id: slotID,
            keyID: keyID)
    }
}
