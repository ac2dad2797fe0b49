public import Foundation
public import KeyServiceClient
public import VaultBiometric
internal import VaultCrypto
public import VaultStorage

/// Makes and opens keyslots that hardware protects.
///
/// The hardware holds a random key. That key seals the long secret of a key at the key service. So an unlock still goes
/// through the service: the service can end the key and has a record of the unlock. Some hardware counts wrong PINs
/// itself and lets nobody reset the count. Only such hardware may work without the service, and only on request.
///
/// A thief who can write the disk can replace the keyslot, if something can be protected without the PIN (for example
/// with a token's public key). That keyslot opens the thief's vault key, which opens none of the account's items.
public enum HardwareKeyslot {
    /// The most bytes that a provider may store for a keyslot.
    public static let maximumProtectedSize = 64 * 1024

    /// The data that is stored beside the wrapped vault key.
    private struct Protection: Codable {
        var version = 1
        /// The provider's own data.
        let provider: Data
        let label: String
        /// The long secret, sealed under the hardware's key; nil for a slot that needs no key service.
        let longSecret: Data?
        /// The identity key of the key service; nil for protocol version 1, or if the service had none.
        var serviceKey: Data?
    }

    /// Makes a keyslot for `vaultKey`. Stores nothing yet.
    ///
    /// - Parameters:
    ///   - account: the account of the vault key.
    ///   - vaultKey: the vault key that the keyslot will hold.
    ///   - provider: the hardware.
    ///   - prompt: asks the person for the hardware's PIN.
    ///   - keyService: the key service that makes the slot's key; nil for a slot that needs no key service.
    ///   - now: the time when the slot is made.
    /// - Throws: `BiometricError`, `KeyServiceError`.
    public static func make(
        for account: Account, vaultKey: VaultKey, provider: any BiometricProvider, prompt: any BiometricPrompt,
        keyService: (any KeyService)?, now: Date
    ) async throws -> Keyslot {
        if keyService == nil { try await requireGuessLimit(of: provider) }
        let kind = Keyslot.Kind(rawValue: provider.kind)
        let id = UUID().uuidString.lowercased()
        let (shared, protected) = try await enrol(provider, prompt: prompt)
        let secret = try shared.bytes.copy()
        var keyID = ""
        var longSecret: Data?
        var releasedKey: SharedSecret?
        if let keyService {
            // Nobody needs this secret again: the slot uses the long secret that the service makes.
            let released = try await keyService.createKey(secret: AuthSecret.random())
            keyID = released.id
            longSecret = Data(
                try SealedEnvelope.seal(
                    released.longSecret, key: longSecretKey(secret),
                    context: longSecretContext(account.id, slotID: id, keyID: keyID)))
            releasedKey = SharedSecret(try released.key.copy())
        }
        let protection = try encoded(protected, longSecret: longSecret)
        let slotKey = try slotKey(secret, releasedKey: releasedKey, slotID: id, protection: protection)
        let wrapped = try vaultKey.wrapped(
            under: slotKey, kind, of: account.id, slotID: id, keyID: keyID)
        return Keyslot(
            id: id, kind: kind, salt: [], argon2: Argon2Parameters(passes: 0, memoryKiB: 0, lanes: 0), keyID: keyID,
            wrapped: wrapped, createdAt: now, label: protected.label, protection: protection)
    }

    /// Lets the hardware protect a new random secret.
    static func enrol(
        _ provider: any BiometricProvider, prompt: any BiometricPrompt
    ) async throws -> (secret: SharedSecret, protected: ProtectedSecret) {
        guard Keyslot.Kind(rawValue: provider.kind).isHardware else {
            throw BiometricError(.failed, "Hardware cannot make a keyslot of the kind \(provider.kind).")
        }
        let secret = SharedSecret(try SecretBytes.random(count: 32))
        let protected = try await provider.protect(secret.bytes, prompt: prompt)
        guard protected.bytes.count <= maximumProtectedSize else {
            throw BiometricError(.failed, "The hardware needs to store more than 64 KiB. Use other hardware.")
        }
        return (secret, protected)
    }

    /// Lets the hardware give the secret of a keyslot back.
    static func unprotect(
        _ slot: Keyslot, provider: any BiometricProvider, prompt: any BiometricPrompt
    ) async throws -> SharedSecret {
        guard provider.kind == slot.kind.rawValue else {
            throw BiometricError(
                .notEnrolled, "A keyslot of the kind \(slot.kind.rawValue) does not open with \(provider.kind).")
        }
        return SharedSecret(try await provider.unprotect(protectedSecret(of: slot), prompt: prompt))
    }

    static func encoded(
        _ protected: ProtectedSecret, longSecret: Data?, serviceKey: [UInt8]? = nil
    ) throws -> [UInt8] {
        Array(
            try JSONEncoder().encode(
                Protection(
                    provider: Data(protected.bytes), label: protected.label, longSecret: longSecret,
                    serviceKey: serviceKey.map { Data($0) })))
    }

    /// Returns the identity key of the key service from a stored keyslot; nil for none.
    static func serviceKey(of slot: Keyslot) -> [UInt8]? {
        (try? protection(of: slot))?.serviceKey.map { Array($0) }
    }

    /// Returns the provider's own data from a stored keyslot.
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
    ///   - account: the account of the keyslot.
    ///   - provider: the hardware that opens it.
    ///   - prompt: asks the person for the hardware's PIN.
    ///   - keyService: not used for a slot that needs no key service.
    /// - Throws: `BiometricError`. `KeyServiceError` with code `keyLocked`, `noSuchKey` or `unavailable`.
    ///   ``StoreError`` with code `corrupt` if the stored slot was changed.
    public static func open(
        _ slot: Keyslot, of account: Account, provider: any BiometricProvider, prompt: any BiometricPrompt,
        keyService: any KeyService
    ) async throws -> VaultKey {
        try await opened(slot, of: account, provider: provider, prompt: prompt, keyService: keyService).vaultKey
    }

    /// As ``open(_:of:provider:prompt:keyService:)``, with the hardware's secret.
    static func opened(
        _ slot: Keyslot, of account: Account, provider: any BiometricProvider, prompt: any BiometricPrompt,
        keyService: any KeyService
    ) async throws -> (vaultKey: VaultKey, secret: SharedSecret) {
        let protection = try protection(of: slot)
        guard slot.check.isEmpty else { throw StoreError(.corrupt, "This keyslot speaks protocol version 2.") }
        let shared = try await unprotect(slot, provider: provider, prompt: prompt)
        let secret = try shared.bytes.copy()
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
            return (try slot.vaultKey(under: slotKey, of: account.id), shared)
        } catch let error as VaultCryptoError where error.code != .outOfMemory {
            throw StoreError(
                .corrupt, "The hardware opened its part, but the stored keyslot is damaged and does not open.",
                underlying: error)
        }
    }

    /// - Throws: `BiometricError` with code `unavailable` if a thief who has the hardware can guess without limit.
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

    /// Joins a secret of the hardware's key, which never leaves the machine, with the released key, if there is one.
    /// The salt is the data beside the wrapped key. So nobody can change that data unnoticed, not even the token's name
    /// in the PIN prompt.
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
