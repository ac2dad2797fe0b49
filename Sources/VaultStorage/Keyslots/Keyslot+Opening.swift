internal import VaultCrypto

// What opening has in common, whatever kind of keyslot it is.
extension Keyslot {
    /// Stretches what a person typed, as the slot says.
    ///
    /// - Parameters:
    ///   - floor: what no slot of the kind is made with less than.
    ///   - cost: what new slots get, where that is less.
    /// - Throws: ``StoreError`` with code `corrupt` when the slot's parameters are less, or impossible.
    func stretched(
        _ secret: borrowing SecretBytes, of account: Account, floor: (passes: UInt32, memoryKiB: UInt32),
        cost: Argon2Parameters
    ) async throws -> StretchedPassword {
        // Whoever can write the disk could otherwise make the next login give away a cheap hash of the secret.
        guard argon2.passes >= min(floor.passes, cost.passes), argon2.memoryKiB >= min(floor.memoryKiB, cost.memoryKiB)
        else {
            throw StoreError(.corrupt, "The stored keyslot asks for so little work that somebody must have changed it.")
        }
        do {
            return try await StretchedPassword(
                password: secret, salt: salt, deviceSecret: SecretBytes(copying: account.deviceSecret),
                parameters: argon2, name: kind.secretName)
        } catch let error as VaultCryptoError where error.code == .invalidInput {
            throw StoreError(.corrupt, "The stored keyslot has impossible parameters.", underlying: error)
        }
    }

    /// Opens what the slot wraps.
    ///
    /// - Throws: `VaultCryptoError` when it is damaged, or the key another one.
    func vaultKey(under slotKey: borrowing SecretBytes, of id: AccountID) throws -> VaultKey {
        try VaultKey(
            SealedEnvelope.open(
                wrapped, key: slotKey, context: .keyslot(kind, of: id, slotID: self.id, keyID: keyID)))
    }
}
