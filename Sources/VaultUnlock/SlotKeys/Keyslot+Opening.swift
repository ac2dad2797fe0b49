package import VaultBiometric
package import VaultCrypto
package import VaultStorage

// The steps of opening that several kinds of keyslots share.
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
        let floor = kind == .offline ? Self.leastLocalCost : Self.leastCost
        // A thief who can write the disk could otherwise make the next login reveal a cheap hash of the secret.
        guard argon2.passes >= min(floor.passes, cost.passes), argon2.memoryKiB >= min(floor.memoryKiB, cost.memoryKiB)
        else {
            throw StoreError(
                .corrupt, "The stored keyslot was changed: its Argon2id cost is too low. Use another unlock method.")
        }
        do {
            return SharedSecret(
                try await StretchedPassword.stretch(
                    kind.traits.prepared(secret.bytes), salt: salt,
                    deviceSecret: SecretBytes(copying: account.deviceSecret), parameters: argon2,
                    name: kind.secretName, count: size))
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
        guard kind.isTyped || kind.isHardware else {
            throw StoreError(.corrupt, "A keyslot of the kind \(kind.rawValue) has no key at a key service.")
        }
    }

    /// Opens the wrapped vault key with the slot key of the right secret.
    ///
    /// - Throws: ``StoreError`` with code `corrupt`: the slot was changed.
    func vaultKey(underRight slotKey: borrowing SecretBytes, of id: AccountID) throws -> VaultKey {
        // The closure would consume a borrowed value.
        let key = SharedSecret(try slotKey.copy())
        return VaultKey(
            try openingRight {
                try SealedEnvelope.open(
                    wrapped, key: key.bytes,
                    context: .keyslot(
                        kind, of: id, slotID: self.id, keyID: keyID, version: keyServiceProtocol ?? 1))
            })
    }

    /// Runs `body`, which fails only if the stored slot was changed, because its secret is right.
    func openingRight<R: ~Copyable>(_ body: () throws -> R) throws -> R {
        do {
            return try body()
        } catch let error as VaultCryptoError where error.code != .outOfMemory {
            let right = kind.isHardware ? "The hardware opened its part" : "The secret is right"
            throw StoreError(
                .corrupt, "\(right), but the stored keyslot is damaged and does not open. Use another unlock method.",
                underlying: error)
        }
    }
}
