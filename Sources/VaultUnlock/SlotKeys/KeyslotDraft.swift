package import Foundation
package import VaultBiometric
package import VaultCrypto
package import VaultStorage

/// The values that a new keyslot is made from.
package struct KeyslotDraft: Sendable {
    let kind: Keyslot.Kind
    var id = UUID().uuidString.lowercased()
    /// A typed secret after Argon2id, or a random secret that hardware protects.
    let input: SharedSecret
    /// The salt of Argon2id, 16 bytes; empty for hardware.
    var salt: [UInt8] = []
    /// The cost of Argon2id.
    var argon2 = Argon2Parameters(passes: 0, memoryKiB: 0, lanes: 0)
    /// The secret as the hardware protects it; nil if a person types the secret.
    var protected: ProtectedSecret?
    let createdAt: Date

    /// Seals the vault key, and returns the finished keyslot.
    ///
    /// - Parameters:
    ///   - key: the id of the key at the key service, and the version of its protocol; nil for none.
    ///   - hasKeyService: whether the account has a key service.
    /// - Throws: ``VaultError`` with code `configurationInvalid` when another process holds the vault key.
    func keyslot(
        of account: AccountID, sealing vaultKey: VaultKey, under slotKey: borrowing SecretBytes,
        key: (id: String, version: Int)?, protection: [UInt8] = [], check: [UInt8] = [], endSignature: [UInt8] = [],
        hasKeyService: Bool = true
    ) throws -> Keyslot {
        let wrapped = try vaultKey.wrapped(
            under: slotKey,
            .keyslot(
                kind, of: account, slotID: id, keyID: key?.id ?? "", version: key?.version,
                hasKeyService: hasKeyService))
        return Keyslot(
            id: id, kind: kind, salt: salt, argon2: argon2, keyID: key?.id ?? "",
            keyServiceProtocol: key?.version, wrapped: wrapped, createdAt: createdAt,
            // There is only one desktop keyring, so it needs no name of its own.
            label: kind.isHardware ? protected?.label : nil, protection: protection, check: check,
            endSignature: endSignature)
    }
}

extension KeyslotDraft {
    /// Stretches a typed secret for a new keyslot.
    ///
    /// - Parameters:
    ///   - secret: as typed, UTF-8. For the kind `recovery`, a `RecoveryCode`.
    ///   - inputSize: see ``SlotKeyProtocol/inputSize``.
    /// - Throws: `VaultCryptoError` with code `invalidPassword` (ask for another one), `invalidRecovery` or `outOfMemory`.
    package static func typed(
        _ kind: Keyslot.Kind, _ secret: borrowing SecretBytes, for account: Account, cost: Argon2Parameters,
        inputSize: Int, at date: Date
    ) async throws -> KeyslotDraft {
        guard kind.isTyped || kind == .offline else {
            throw VaultCryptoError(.invalidInput, "A keyslot of the kind \(kind.rawValue) has no secret to type.")
        }
        let salt = try SecretBytes.random(count: 16).withUnsafeBytes { Array($0) }
        let input = try await kind.stretched(secret, salt: salt, of: account, cost: cost, size: inputSize)
        return KeyslotDraft(kind: kind, input: input, salt: salt, argon2: cost, createdAt: date)
    }

    /// Lets hardware protect a new random secret.
    ///
    /// A thief who can write the disk can replace such a keyslot, if something can be protected without the PIN (for
    /// example with a token's public key). That keyslot opens the thief's vault key, which opens none of the account's
    /// items.
    ///
    /// - Parameter needsKeyService: whether the key service can end the keyslot. If it cannot, the hardware must count
    ///   wrong PINs itself, and let nobody reset the count.
    /// - Throws: `BiometricError`; with code `unavailable` if a thief who has the hardware can guess without limit.
    package static func hardware(
        _ provider: any BiometricProvider, prompt: any BiometricPrompt, needsKeyService: Bool, at date: Date
    ) async throws -> KeyslotDraft {
        if !needsKeyService {
            switch try await provider.guessLimit() {
            case .firm: break
            case .weak(let reason), .absent(let reason):
                throw BiometricError(.unavailable, "\(reason) It cannot open the account without the key service.")
            }
        }
        let kind = Keyslot.Kind(rawValue: provider.kind)
        guard kind.hasProvider else {
            throw BiometricError(.failed, "Hardware cannot make a keyslot of the kind \(provider.kind).")
        }
        let secret = SharedSecret(try SecretBytes.random(count: 32))
        let protected = try await provider.protect(secret.bytes, prompt: prompt)
        guard protected.bytes.count <= HardwareData.maximumProtectedSize else {
            throw BiometricError(.failed, "The hardware needs to store more than 64 KiB. Use other hardware.")
        }
        return KeyslotDraft(kind: kind, input: secret, protected: protected, createdAt: date)
    }
}
