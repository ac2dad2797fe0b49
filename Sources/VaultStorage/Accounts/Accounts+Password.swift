package import VaultCrypto
internal import VaultLocks

extension Accounts {
    /// Gives an account a new password. The new keyslot is staged, opened once to prove that it works, and only then
    /// takes the old one's place, in one transaction: after a crash at any point exactly one of the two passwords works.
    ///
    /// - Throws: ``VaultError`` with code `busy` when another program changed the password meanwhile;
    ///   `forbiddenByPolicy` and `passwordUnusable`; `wrongSecret`, `keyLocked`, `keyMissing`, `keyServiceUnavailable`,
    ///   `configurationInvalid` of the key service; `storeUnreadable`, `storeCorrupt`. Then the old password is still
    ///   the one.
    package func changePassword(
        of account: Account, from old: borrowing SecretBytes, to new: borrowing SecretBytes
    ) async throws {
        try requireNewPassword(new)
        try await setPassword(new, of: account, vaultKey: open(account, with: .password(old)))
    }

    /// As ``changePassword(of:from:to:)``, for an account that was opened in whatever way.
    ///
    /// An offline keyslot opens with the password, so it gets the new one, too. The other ways in stay, unless they are to
    /// go: then whoever knows, or has, one of them does not get in any more.
    ///
    /// - Returns: the ways in that were dropped.
    @discardableResult
    package func setPassword(
        _ new: borrowing SecretBytes, of account: Account, vaultKey: VaultKey, dropsOtherWays: Bool = false
    ) async throws -> [Keyslot] {
        try requireNewPassword(new)
        return try await putPassword(new, of: account, vaultKey: vaultKey, dropsOtherWays: dropsOtherWays)
    }

    /// As ``setPassword(_:of:vaultKey:dropsOtherWays:)``, for a password that need not be new: its length is not judged.
    @discardableResult
    package func putPassword(
        _ new: borrowing SecretBytes, of account: Account, vaultKey: VaultKey, dropsOtherWays: Bool = false
    ) async throws -> [Keyslot] {
        try requireAllowed(.password)
        let slot = try await typedSlot(.password, new, account, vaultKey)
        FaultPoint.passwordKeyCreated.reach()
        let keepsOffline = !dropsOtherWays && account.keyslot(.offline) != nil
        let offline: Keyslot?
        do {
            offline = keepsOffline ? try await offlineSlot(new, account, vaultKey) : nil
        } catch {
            await discard(slot, of: account)
            throw error
        }
        // Others may be added or used meanwhile; the password and what opens with it have to be what was looked at.
        let ofPassword = currentIDs(of: account, where: \.isOfPassword)
        let dropped = Lock<[Keyslot]>([])
        let swap = KeyslotSwap(
            new: slot, secret: try SharedSecret(new.copy()), vaultKey: vaultKey,
            faults: (.passwordStaged, .passwordVerified, .passwordSwapped))
        try await self.swap(swap, into: account) { current in
            guard Set(current.keyslotIDs(where: \.isOfPassword)) == ofPassword else {
                throw VaultError(.busy, "Another program changed the password meanwhile. Nothing was changed here.")
            }
            try await requireCurrent(vaultKey, of: current, as: account)
            if dropsOtherWays { dropped.withLock { $0 = current.keyslots.filter { $0.kind != .password } } }
            let gone = ofPassword.union(dropsOtherWays ? current.keyslotIDs { _ in true } : [])
            return gone.map { .removeKeyslot(id: $0) } + [offline].compactMap { $0.map { .putKeyslot($0) } }
        }
        return dropped.withLock { $0 }
    }
}
