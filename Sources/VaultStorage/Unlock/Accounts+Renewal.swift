internal import KeyService
internal import VaultCrypto
internal import VaultHTTP

// A thief who guesses with a copy of the store must lose that copy. So after wrong guesses the keyslot gets a new key
// with the same secret, and the old key is ended.
extension Accounts {
    /// Calls `handler` with each ``AccountNotice`` from now on. It must return at once.
    package func onNotice(_ handler: @escaping @Sendable (AccountNotice) -> Void) {
        notices.add(handler)
    }

    /// Finishes the work after a keyslot opened an account. Its errors do not keep the person out.
    ///
    /// - Returns: the notice about wrong guesses for the person.
    func settle(
        _ opened: OpenedKeyslot, _ slot: Keyslot, of account: Account, with method: UnlockMethod
    ) async -> AccountNotice? {
        guard slot.needsKeyService else { return nil }
        var notice: AccountNotice?
        let noted = NotedGuesses(store: store, account: account.id)
        if let secret = method.typedSecret {
            if let wrong = opened.wrongGuesses, wrong.count > 0 {
                let here = (try? await noted.count(of: slot)) ?? 0
                let isRenewed = await renew(slot, of: account, secret, opened.vaultKey)
                // Otherwise the key service tells the same guesses again.
                if isRenewed { try? await noted.forget(slot) }
                if wrong.count > here {
                    notice = .wrongGuesses(
                        wrong.count - here, last: wrong.last, at: slot, of: account.id, isRenewed: isRenewed)
                }
            } else {
                try? await noted.forget(slot)
            }
        }
        await removeLeftKeyslot(of: account)
        await endRetiredKeys(at: account.keyServiceURL)
        if let notice { notices.send(notice) }
        return notice
    }

    /// Gives a keyslot a new key and a new salt, with the same secret.
    ///
    /// - Returns: whether the old key opens nothing any more.
    private func renew(
        _ slot: Keyslot, of account: Account, _ secret: SharedSecret, _ vaultKey: VaultKey
    ) async -> Bool {
        do {
            var new = try await typedSlot(slot.kind, secret.bytes, account, vaultKey, madeAt: slot.createdAt)
            new.label = slot.label
            new.lastUsedAt = clock.now
            FaultPoint.renewalKeyCreated.reach()
            let swap = KeyslotSwap(
                new: new, secret: secret, vaultKey: vaultKey,
                faults: (.renewalStaged, .renewalVerified, .renewalSwapped))
            try await self.swap(swap, into: account) { current in
                guard current.keyslots.contains(where: { $0.id == slot.id }) else {
                    throw VaultError(
                        .busy, "Another program changed the \(slot.kind.displayName) meanwhile. Try again.")
                }
                return [.removeKeyslot(id: slot.id)]
            }
            history.note(slot.id, renewedAs: new.id)
            return true
        } catch {
            // If several programs log in at once, only one of them renews the keyslot.
            guard let now = try? await current(account) else { return false }
            return !now.keyslots.contains { $0.id == slot.id }
        }
    }

    /// Removes a keyslot that a crash left staged, and ends its key.
    private func removeLeftKeyslot(of account: Account) async {
        guard let left = try? await store.stagedKeyslot(of: account.id) else { return }
        let retired = try? await withLock(on: account.id) { _ -> JustRetired? in
            // Another program may have just staged it. Then it is gone when that program releases the lock.
            guard try await store.stagedKeyslot(of: account.id)?.id == left.id else { return nil }
            return try await apply([.removeKeyslot(id: left.id)], to: account.id, retiringKeysOf: current(account))
        }
        if let retired { await end(retired, of: account.id) }
    }
}
