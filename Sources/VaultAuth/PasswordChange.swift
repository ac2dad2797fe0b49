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
        try await setPassword(new, of: account, vaultKey: open(account, with: .password(old)))
    }

    /// As ``changePassword(of:from:to:)``, for an account that was opened in whatever way.
    ///
    /// An offline keyslot opens with the password, so it gets the new one, too. The other ways in stay, unless they are to
    /// go: then whoever knows, or has, one of them does not get in any more.
    ///
    /// - Returns: the ways in that were dropped.
    @discardableResult
    public func setPassword(
        _ new: borrowing SecretBytes, of account: Account, vaultKey: VaultKey, dropsOtherWays: Bool = false
    ) async throws -> [Keyslot] {
        let slot = try await typedSlot(.password, new, account, vaultKey)
        FaultPoint.passwordKeyCreated.reach()
        let keepsOffline = !dropsOtherWays && account.keyslot(.offline) != nil
        let offline = keepsOffline ? try await offlineSlot(new, account, vaultKey) : nil
        // Others may be added or used meanwhile; the password and what opens with it have to be what was looked at.
        let ofPassword = account.keyslotIDs { $0 == .password || $0 == .offline }
        let id = account.id
        let password = try SharedSecret(new.copy())
        return try await withLock(on: id) { _ in
            guard let current = try await store.account(id), current.deviceSecret == account.deviceSecret,
                current.keyslotIDs(where: { $0 == .password || $0 == .offline }) == ofPassword
            else {
                throw VaultError(.busy, "Another program changed the password meanwhile. Nothing was changed here.")
            }
            try await requireCurrent(vaultKey, of: current, as: account)
            let dropped = dropsOtherWays ? current.keyslots.filter { $0.kind != .password } : []
            let gone = Set(ofPassword + (dropsOtherWays ? current.keyslotIDs { _ in true } : []))
            try await store.apply([.stageKeyslot(slot)], to: id)
            FaultPoint.passwordStaged.reach()
            do {
                try await verify(slot, of: current, opensWith: password, to: vaultKey)
                FaultPoint.passwordVerified.reach()
                var changes: [StoreChange] = gone.map { .removeKeyslot(id: $0) }
                if let offline { changes.append(.putKeyslot(offline)) }
                try await store.apply(changes + [.activateKeyslot(id: slot.id)], to: id)
            } catch {
                // A staged slot opens nothing; where it cannot be removed now, the next change of password does.
                try? await store.apply([.removeKeyslot(id: slot.id)], to: id)
                throw error
            }
            FaultPoint.passwordSwapped.reach()
            return dropped
        }
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
