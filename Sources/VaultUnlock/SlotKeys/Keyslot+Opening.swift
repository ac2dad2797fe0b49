internal import Foundation
internal import KeyServiceClient
package import VaultBiometric
package import VaultCrypto
package import VaultStorage

// The steps of making and opening that several kinds of keyslots share.
extension Keyslot {
    /// Stretches a typed secret with the slot's parameters.
    ///
    /// - Parameters:
    ///   - cost: the cost of new slots. A slot with a much lower cost was changed by a thief.
    ///   - size: see ``SlotKeyProtocol/inputSize``.
    /// - Throws: ``StoreError`` with code `corrupt` if the slot's cost is too low, or impossible. `VaultCryptoError`.
    package func stretched(
        _ secret: SharedSecret, of account: Account, cost: Argon2Parameters, size: Int
    ) async throws -> SharedSecret {
        let floor = needsKeyService ? Self.leastCost : Self.leastLocalCost
        // A thief who can write the disk could otherwise make the next login reveal a cheap hash of the secret.
        guard argon2.passes >= min(floor.passes, cost.passes), argon2.memoryKiB >= min(floor.memoryKiB, cost.memoryKiB)
        else {
            throw StoreError(
                .corrupt, "The stored keyslot was changed: its Argon2id cost is too low. Use another unlock method.")
        }
        do {
            return try await kind.stretched(secret.bytes, salt: salt, of: account, cost: argon2, size: size)
        } catch let error as VaultCryptoError where error.code == .invalidInput {
            throw StoreError(
                .corrupt, "The stored keyslot is damaged: its parameters are impossible. Use another unlock method.",
                underlying: error)
        }
    }

    /// The least cost of a keyslot with a key at the key service, which counts guesses.
    private static let leastCost: (passes: UInt32, memoryKiB: UInt32) = (passes: 2, memoryKiB: 19 * 1024)
    /// The least cost of a keyslot that nobody counts guesses at.
    private static let leastLocalCost: (passes: UInt32, memoryKiB: UInt32) = (passes: 3, memoryKiB: 128 * 1024)

    /// Lets hardware give the secret back that it protects.
    ///
    /// - Throws: `BiometricError`. ``StoreError`` with code `corrupt`.
    package func unprotected(by provider: any BiometricProvider, _ prompt: any BiometricPrompt) async throws
        -> SharedSecret
    {
        guard provider.kind == kind.rawValue else {
            throw BiometricError(
                .notEnrolled, "A keyslot of the kind \(kind.rawValue) does not open with \(provider.kind).")
        }
        return SharedSecret(try await provider.unprotect(protectedSecret(), prompt: prompt))
    }

    /// Refuses a stored keyslot of a kind that never has a key at a key service. Somebody changed it.
    func requireKeyAtService() throws {
        guard kind.isTyped || kind.hasProvider else {
            throw StoreError(.corrupt, "A keyslot of the kind \(kind.rawValue) has no key at a key service.")
        }
    }

    /// Opens the wrapped vault key with the slot key of the right secret.
    ///
    /// - Parameter hasKeyService: see `SealingContext.keyslot`.
    /// - Throws: ``StoreError`` with code `corrupt`: the slot was changed.
    func vaultKey(
        underRight slotKey: borrowing SecretBytes, of id: AccountID, hasKeyService: Bool = true
    ) throws -> VaultKey {
        // The closure would consume a borrowed value.
        let key = SharedSecret(try slotKey.copy())
        return VaultKey(
            try openingRight {
                try SealedEnvelope.open(
                    wrapped, key: key.bytes,
                    context: .keyslot(
                        kind, of: id, slotID: self.id, keyID: keyID, version: keyServiceProtocol,
                        hasKeyService: hasKeyService))
            })
    }

    /// Runs `body`, which fails only if the stored slot was changed, because its secret is right.
    func openingRight<R: ~Copyable>(_ body: () throws -> R) throws -> R {
        do {
            return try body()
        } catch let error as VaultCryptoError where error.code != .outOfMemory {
            let right =
                kind.hasProvider
                ? "The \(kind.isHardware ? "hardware" : kind.displayName) opened its part" : "The secret is right"
            throw StoreError(
                .corrupt, "\(right), but the stored keyslot is damaged and does not open. Use another unlock method.",
                underlying: error)
        }
    }
}

/// The result of opening a keyslot.
package struct OpenedKeyslot: Sendable {
    package let vaultKey: VaultKey
    /// With protocol version 1, the wrong guesses since the last right one; nil for none.
    var wrongGuesses: WrongGuesses?
    /// With protocol version 2, the message that takes back the guess. It must be stored before the session begins.
    var confirmation: KeyConfirmation?
    var isConfirmationStored = false
    /// The times of open guesses that were not made with this store, by the service's clock. Oldest first.
    var guessesElsewhere: [Date] = []
    /// The time when the key was last unlocked by a sign-in at the provider, by the service's clock; nil for never.
    var ownerUnlockedAt: Date?
    /// A later question about open guesses that were too young to judge; nil if there were none.
    var laterQuestion: LaterQuestion?
    /// The number of wrong guesses until the key locks, if such young guesses take some away; nil if there were none.
    var guessesLeft: Int?
    /// The time of the guess by the service's clock, which the service's answer proves; nil if it does not tell.
    var serviceTime: Date?
    /// The secret that hardware gave: it can make the keyslot again. Nil if a person types the secret.
    var hardwareSecret: SharedSecret?

    init(vaultKey: VaultKey) { self.vaultKey = vaultKey }
}

extension Keyslot.Kind {
    /// Stretches a typed secret of this kind with Argon2id.
    ///
    /// - Parameter size: see ``SlotKeyProtocol/inputSize``.
    /// - Throws: `VaultCryptoError` with code `invalidPassword`, `invalidRecovery`, `invalidInput` or `outOfMemory`.
    func stretched(
        _ secret: borrowing SecretBytes, salt: [UInt8], of account: Account, cost: Argon2Parameters, size: Int
    ) async throws -> SharedSecret {
        let text: SecretBytes
        switch self {
        // The canonical form is the same, however the code was typed.
        case .recovery: text = try RecoveryCode.canonical(secret)
        default: text = try Password.opaqueString(secret, name: secretName)
        }
        return SharedSecret(
            try await Argon2id.derive(
                password: text, salt: salt, secret: SecretBytes(copying: account.deviceSecret), parameters: cost,
                count: size))
    }
}

extension VaultKey {
    /// Seals the key itself under the key of a keyslot.
    ///
    /// - Throws: ``VaultError`` with code `configurationInvalid` when another process holds the key.
    func wrapped(under slotKey: borrowing SecretBytes, _ context: SealingContext) throws -> [UInt8] {
        // The agent does not wrap its key: a caller chooses the slot key, so the caller could then open the wrapped key.
        guard let bytes else { throw Self.isKeptByAgent }
        return try SealedEnvelope.seal(bytes.bytes, key: slotKey, context: context)
    }
}

extension SealingContext {
    /// Makes the context that a keyslot's wrapped vault key is bound to.
    ///
    /// - Parameters:
    ///   - version: the version of the key service's protocol; nil for a keyslot that needs no key service.
    ///   - hasKeyService: whether the account has a key service. A keyslot of one kind of account does not open in the
    ///     other. So somebody who writes the disk cannot take the key service from an account, or give it one.
    static func keyslot(
        _ kind: Keyslot.Kind, of id: AccountID, slotID: String, keyID: String, version: Int?, hasKeyService: Bool = true
    ) -> SealingContext {
        let purpose = hasKeyService ? "keyslot" : "keyslot-without-key-service"
        return SealingContext(
            purpose: "credential-vault/v\(version ?? 1)/\(purpose)/\(kind.rawValue)", issuer: id.issuer,
            subject: id.subject, id: slotID, keyID: keyID)
    }
}
