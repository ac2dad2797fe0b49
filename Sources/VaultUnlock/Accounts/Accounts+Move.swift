internal import VaultCrypto
package import VaultStorage

// The move of an account without a key service to a key service. The secret stays the same. The vault key is a new one,
// because nobody counted the guesses of a thief who has an old copy of the disk.
extension Accounts {
    /// Moves an account without a key service to the key service of the settings. The unlock method that opens it is
    /// kept, with the same secret and a key at the key service. All other unlock methods end, because they hold the old
    /// vault key.
    ///
    /// The new keyslot is staged. Then one transaction stores the key service, the keyslot, and all items under the new
    /// vault key. So after a crash at any point, the account is as before, or has moved.
    ///
    /// - Throws: ``VaultError`` with the codes of opening with an ``UnlockMethod``. Also `configurationInvalid` if the
    ///   account has a key service, or if no key service is set; `keyServiceUnavailable` or `busy` (try again);
    ///   `forbiddenByPolicy` for the key service; `keyServiceNotTrusted`; `storeUnreadable` (free disk space). Then
    ///   nothing was changed.
    package func moveToKeyService(_ account: Account, with method: UnlockMethod) async throws -> ReplacedVaultKey {
        do {
            try method.requireSecret()
            let stored = try await current(account)
            guard !stored.hasKeyService else {
                throw VaultError(.configurationInvalid, "\(stored.displayName) has a key service already.")
            }
            guard !keyServiceURL.isEmpty else {
                throw VaultError(.configurationInvalid, "The account cannot move, because no key service is set.")
            }
            let method = method.opening(stored)
            try requireAllowed(issuer: stored.id.issuer, method: stored.method)
            try await requirePolicyInSight()
            try await checkKeyService()
            var opening = self
            opening.isMoving = true
            let found = try await opening.openedKeyslot(stored, with: method)
            let slot = found.slot
            // The rules for a new account hold for the first key at the service.
            var moved = try await current(stored).moved(to: keyServiceURL)
            (moved.keyslots, moved.damagedKeyslots) = ([], [])
            let vaultKey = try VaultKey.random()
            let new = try await making(with: found.account.vaultKey)
                .remade(slot, of: moved, found.opened, with: method, vaultKey: vaultKey)
            FaultPoint.keyslotMade.reach()
            let replaced = try await replace(
                found.account.vaultKey, of: moved, by: vaultKey, keeping: new, secret: method.typedSecret,
                movingTo: keyServiceURL
            ) { current in
                guard !current.hasKeyService, current.keyslots.contains(where: { $0.id == slot.id }) else {
                    throw Self.keyslotsChanged(current)
                }
                return current.keyslots.filter { $0.id != slot.id }
            }
            // Keys of earlier moves that were interrupted.
            await endRetiredKeys(at: keyServiceURL, opening: (account.id, vaultKey))
            return replaced
        } catch {
            throw VaultError.converting(error)
        }
    }
}
