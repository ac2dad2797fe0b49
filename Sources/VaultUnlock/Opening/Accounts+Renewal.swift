internal import KeyServiceClient
internal import VaultBase
internal import VaultCrypto
internal import VaultStorage

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
    func renewAfterOpening(
        _ opened: OpenedKeyslot, _ slot: Keyslot, of account: Account, with method: UnlockMethod
    ) async -> AccountNotice? {
        guard slot.needsKeyService else {
            // A move to a key service may have been interrupted.
            if !account.hasKeyService { await removeLeftKeyslot(of: account) }
            return nil
        }
        let notice =
            slot.isOPRF
            ? await renewAfterOtherGuesses(opened, slot, of: account, with: method)
            : await renewAfterWrongGuesses(opened, slot, of: account, with: method)
        await removeLeftKeyslot(of: account)
        await endRetiredKeys(at: account.keyServiceURL, opening: (account.id, opened.vaultKey))
        if let notice { await tell(notice) }
        return notice
    }

    /// Protocol version 1: after wrong guesses, and where the service has version 2, the keyslot is made again.
    private func renewAfterWrongGuesses(
        _ opened: OpenedKeyslot, _ slot: Keyslot, of account: Account, with method: UnlockMethod
    ) async -> AccountNotice? {
        let notes = KeyslotNotes(store: store, account: account.id)
        let wrong = slot.kind.isTyped ? opened.wrongGuesses.flatMap { $0.count > 0 ? $0 : nil } : nil
        let here = wrong == nil ? 0 : (try? await notes.reading())?.wrongGuesses(of: slot) ?? 0
        var renewal = AccountNotice.Renewal.none
        var upgrades = false
        if wrong == nil { upgrades = await shouldUpgrade(slot, of: account) }
        @Sendable func notice(_ renewal: AccountNotice.Renewal) -> AccountNotice? {
            guard let wrong, wrong.count > here else { return nil }
            return .wrongGuesses(wrong.count - here, last: wrong.last, at: slot, of: account.id, renewal)
        }
        @Sendable func forget(_ renewal: AccountNotice.Renewal) async {
            // Without a new key, the key service tells the same guesses again.
            if wrong == nil || renewal.isNew { try? await notes.forgetWrong(slot) }
        }
        if wrong != nil || upgrades {
            renewal = await renew(slot, of: account, opened, with: method) { renewal in
                await forget(renewal)
                if !renewal.isNew, let notice = notice(renewal) { await tell(notice) }
            }
        }
        await forget(renewal)
        return notice(renewal)
    }

    /// Protocol version 2: after guesses that were not made here, the keyslot is made again. The keyslot is also made
    /// again after a sign-in unlocked the key. The guesses before the unlock are forgotten, so the person has to hear
    /// of the unlock.
    private func renewAfterOtherGuesses(
        _ opened: OpenedKeyslot, _ slot: Keyslot, of account: Account, with method: UnlockMethod
    ) async -> AccountNotice? {
        try? await KeyslotNotes(store: store, account: account.id).forgetWrong(slot)
        let guesses = OwnGuesses(store: store, account: account.id)
        guard !opened.guessesElsewhere.isEmpty || opened.ownerUnlockedAt != nil else { return nil }
        if let time = opened.ownerUnlockedAt { notices.send(.keyUnlocked(slot.kind, at: time, of: account.id)) }
        @Sendable func notice(_ renewal: AccountNotice.Renewal) -> AccountNotice {
            .guessesElsewhere(
                opened.guessesElsewhere.count, last: opened.guessesElsewhere.last, at: slot, of: account.id, renewal)
        }
        @Sendable func forgetOldKeys(_ renewal: AccountNotice.Renewal) async {
            guard renewal.isNew, let now = try? await current(account) else { return }
            try? await guesses.keepOnly(Set(now.keyslots.map(\.keyID)))
        }
        let renewal = await renew(slot, of: account, opened, with: method) { renewal in
            await forgetOldKeys(renewal)
            if !renewal.isNew, !opened.guessesElsewhere.isEmpty { await tell(notice(renewal)) }
        }
        await forgetOldKeys(renewal)
        return opened.guessesElsewhere.isEmpty ? nil : notice(renewal)
    }

    /// Gives a keyslot a new key, with the same secret. If the new key needs an access token that the login gets later,
    /// the renewal waits for it: see ``claimKeysBeside(of:_:_:)``.
    private func renew(
        _ slot: Keyslot, of account: Account, _ opened: OpenedKeyslot, with method: UnlockMethod,
        _ later: @escaping @Sendable (AccountNotice.Renewal) async -> Void
    ) async -> AccountNotice.Renewal {
        guard await needsLaterToken(account, opened.vaultKey) else {
            return await renewNow(slot, of: account, opened, with: method)
        }
        renewals.add(account.id, timer) { token in
            var making = self
            making.tokenAtHand = token
            await later(making.renewNow(slot, of: account, opened, with: method))
        }
        return .waiting
    }

    /// Whether a new key must be claimed, and no access token for that is at hand. An error counts as no: the renewal
    /// then ends with the same error.
    private func needsLaterToken(_ account: Account, _ vaultKey: VaultKey) async -> Bool {
        var making = self
        making.claimsLater = true
        do {
            guard let claim = try await making.requiredClaim(of: account) else { return false }
            return try await !claim.hasToken(vaultKey)
        } catch {
            return false
        }
    }

    private func renewNow(
        _ slot: Keyslot, of account: Account, _ opened: OpenedKeyslot, with method: UnlockMethod
    ) async -> AccountNotice.Renewal {
        do {
            let new = try await remade(slot, of: account, opened, with: method, vaultKey: opened.vaultKey)
            FaultPoint.renewalKeyCreated.reach()
            let swap = KeyslotSwap(
                new: new, secret: method.typedSecret, vaultKey: opened.vaultKey,
                faults: (.renewalStaged, .renewalVerified, .renewalSwapped))
            try await self.swap(swap, into: account) { current in
                guard current.keyslots.contains(where: { $0.id == slot.id }) else {
                    throw VaultError(
                        .busy, "Another program changed the \(slot.kind.displayName) meanwhile. Try again.")
                }
                return [.removeKeyslot(id: slot.id)]
            }
            history.note(slot.id, renewedAs: new.id)
            await forgetNotTrusted(of: account.id)
        } catch {
            await tellNotTrusted(error, at: slot, of: account.id)
            // If several programs log in at once, only one of them renews the keyslot.
            guard let now = try? await current(account), !now.keyslots.contains(where: { $0.id == slot.id }) else {
                return .none
            }
        }
        // If the list cannot be read, no key counts as ended.
        let listed = try? await listedKeys(at: account.keyServiceURL)
        return listed?.contains { $0.id == slot.keyID } == false ? .done : .oldKeyLeft
    }

    /// Makes a keyslot again with the same secret, which has just opened it. Stores nothing yet.
    ///
    /// - Parameter vaultKey: the vault key that the new keyslot holds.
    func remade(
        _ slot: Keyslot, of account: Account, _ opened: OpenedKeyslot, with method: UnlockMethod, vaultKey: VaultKey
    ) async throws -> Keyslot {
        var new: Keyslot
        if let secret = method.typedSecret {
            new = try await typedSlot(slot.kind, secret.bytes, account, vaultKey, madeAt: slot.createdAt)
        } else if let secret = opened.hardwareSecret {
            // The hardware and the person have nothing to do.
            let draft = KeyslotDraft(
                kind: slot.kind, input: secret, protected: try slot.protectedSecret(), createdAt: slot.createdAt)
            new = try await newKeys(for: account).make(draft, for: account, vaultKey: vaultKey)
        } else {
            throw VaultError(
                .configurationInvalid, "The \(slot.kind.displayName) cannot get a new key. Use another unlock method.")
        }
        new.label = slot.label
        new.lastUsedAt = clock.now
        return new
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

// A keyslot that should get a new key by itself keeps its old one if the key service is not the known one. The person is
// told once, because each login would say it again.
extension Accounts {
    /// Tells the person that a keyslot did not get a new key, if the error says that the key service is not the known
    /// one. Says it once, until a keyslot gets a new key.
    private func tellNotTrusted(_ error: any Error, at slot: Keyslot, of account: AccountID) async {
        guard (VaultError.converting(error) as? VaultError)?.code == .keyServiceNotTrusted else { return }
        // If the store cannot be read, the person is rather told twice than never.
        let isTold = try? await store.withRecord(toldNotTrusted(account)) { bytes in
            defer { bytes = [1] }
            return bytes != nil
        }
        if isTold != true { notices.send(.keyServiceNotTrusted(slot.kind, of: account)) }
    }

    /// Tells the person again the next time.
    private func forgetNotTrusted(of account: AccountID) async {
        try? await store.withRecord(toldNotTrusted(account)) { $0 = nil }
    }

    private func toldNotTrusted(_ account: AccountID) -> String { account.recordPrefix + "told-not-trusted" }
}
