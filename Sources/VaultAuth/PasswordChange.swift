internal import OpenIDConnect
public import VaultCrypto
public import VaultStorage

extension Accounts {
    /// Gives an account a new password. The new keyslot is staged, opened once to prove that it works, and only then
    /// takes the old one's place, in one transaction: after a crash at any point exactly one of the two passwords works.
    ///
    /// - Throws: ``VaultError`` with code `busy` when another program changed the password meanwhile; errors of the key
    ///   service (`wrongSecret`, …) and the store. Then the old password is still the one.
    public func changePassword(
        of account: Account, from old: borrowing SecretBytes, to new: borrowing SecretBytes
    ) async throws {
        let vaultKey = try await open(account, password: old)
        let service = try keyService(account.keyServiceURL)
        let slot = try await SecretKeyslot.make(
            .password, for: account, vaultKey: vaultKey, secret: new, keyService: service, parameters: argon2,
            now: clock.now)
        FaultPoint.passwordKeyCreated.reach()
        let replaced = account.keyslots.filter { $0.kind == .password }
        let id = account.id
        let password = try SharedSecret(new.copy())
        try await store.withLock(on: id) {
            guard let current = try await store.account(id),
                current.keyslots.filter({ $0.kind == .password }) == replaced
            else {
                throw VaultError(.busy, "Another program changed the password meanwhile. Nothing was changed here.")
            }
            try await store.apply([.stageKeyslot(slot)], to: id)
            FaultPoint.passwordStaged.reach()
            do {
                try await verify(slot, of: current, opensWith: password, to: vaultKey)
                FaultPoint.passwordVerified.reach()
                try await store.apply(
                    replaced.map { .removeKeyslot(id: $0.id) } + [.activateKeyslot(id: slot.id)], to: id)
            } catch {
                // A staged slot opens nothing; where it cannot be removed now, the next change of password does.
                try? await store.apply([.removeKeyslot(id: slot.id)], to: id)
                throw error
            }
        }
        FaultPoint.passwordSwapped.reach()
    }

    /// Opens the slot as it was stored, with the key as the key service stored it.
    private func verify(
        _ slot: Keyslot, of account: Account, opensWith password: SharedSecret, to vaultKey: VaultKey
    ) async throws {
        guard let staged = try await store.stagedKeyslot(of: account.id), staged.id == slot.id else {
            throw VaultError(.storeUnreadable, "The new password was not stored. The old one still works.")
        }
        let opened = try await SecretKeyslot.open(
            staged, of: account, secret: password.bytes, keyService: keyService(account.keyServiceURL),
            cost: argon2)
        guard opened.isEqual(to: vaultKey) else {
            throw VaultError(.storeCorrupt, "The new password was not stored as it should be. The old one still works.")
        }
    }
}
