internal import VaultCrypto
internal import VaultStorage

// The steps of opening that all kinds of keyslots share.
extension Keyslot {
    /// Stretches the typed secret with the slot's parameters.
    ///
    /// - Parameters:
    ///   - floor: the least cost of any slot of this kind.
    ///   - cost: the cost of new slots, if it is below the floor.
    /// - Throws: ``StoreError`` with code `corrupt` if the slot's cost is lower, or impossible.
    func stretched(
        _ secret: borrowing SecretBytes, of account: Account, floor: (passes: UInt32, memoryKiB: UInt32),
        cost: Argon2Parameters
    ) async throws -> StretchedPassword {
        try requireCost(floor: floor, cost: cost)
        do {
            return try await StretchedPassword(
                password: secret, salt: salt, deviceSecret: SecretBytes(copying: account.deviceSecret),
                parameters: argon2, name: kind.secretName)
        } catch let error as VaultCryptoError where error.code == .invalidInput {
            throw Self.impossible(error)
        }
    }

    /// As ``stretched(_:of:floor:cost:)``, for protocol version 2.
    func obliviousInput(
        _ secret: borrowing SecretBytes, of account: Account, floor: (passes: UInt32, memoryKiB: UInt32),
        cost: Argon2Parameters
    ) async throws -> SharedSecret {
        try requireCost(floor: floor, cost: cost)
        do {
            return try await StretchedPassword.obliviousInput(
                password: secret, salt: salt, deviceSecret: SecretBytes(copying: account.deviceSecret),
                parameters: argon2, name: kind.secretName)
        } catch let error as VaultCryptoError where error.code == .invalidInput {
            throw Self.impossible(error)
        }
    }

    /// Opens the wrapped vault key.
    ///
    /// - Throws: `VaultCryptoError` if it is damaged, or if the slot key is wrong.
    func vaultKey(under slotKey: borrowing SecretBytes, of id: AccountID) throws -> VaultKey {
        try VaultKey(
            SealedEnvelope.open(
                wrapped, key: slotKey,
                context: .keyslot(
                    kind, of: id, slotID: self.id, keyID: keyID, version: keyServiceProtocol ?? 1)))
    }

    /// A thief who can write the disk could otherwise make the next login reveal a cheap hash of the secret.
    private func requireCost(floor: (passes: UInt32, memoryKiB: UInt32), cost: Argon2Parameters) throws {
        guard argon2.passes >= min(floor.passes, cost.passes), argon2.memoryKiB >= min(floor.memoryKiB, cost.memoryKiB)
        else {
            throw StoreError(
                .corrupt, "The stored keyslot was changed: its Argon2id cost is too low. Use another way in.")
        }
    }

    private static func impossible(_ error: VaultCryptoError) -> StoreError {
        StoreError(
            .corrupt, "The stored keyslot is damaged: its parameters are impossible. Use another way in.",
            underlying: error)
    }
}
