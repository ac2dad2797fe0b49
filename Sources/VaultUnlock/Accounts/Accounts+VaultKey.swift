internal import Logging
internal import VaultBase
internal import VaultCrypto
package import VaultStorage

/// An account's vault key after a change, and the unlock methods that the change ended.
package struct ReplacedVaultKey: Sendable {
    /// The vault key from now on.
    package let vaultKey: VaultKey
    /// The vault key before; nil if it stayed.
    package let oldKey: VaultKey?
    /// The unlock methods that open the account no longer.
    package let endedKeyslots: [Keyslot]
}

// Somebody who opened a copy of the store once has the vault key. A new vault key keeps what is written from now on,
// and every later copy of the store, from that person.
extension Accounts {
    /// Gives an account a new vault key. The keyslot that `method` opens is kept, with a new key at the key
    /// service. All other unlock methods end.
    ///
    /// The items are sealed again in the same transaction that stores the new keyslot. So after a crash at any point
    /// the account is as before, or has its new vault key.
    ///
    /// - Throws: ``VaultError`` with the codes of opening with an ``UnlockMethod``. Also `secretRequired` for a method
    ///   that asks nothing, `deviceRevoked` (register again), `configurationInvalid` if the unlock method cannot be
    ///   kept (use another one), `busy` (try again), or `storeUnreadable` (free disk space). Then nothing was changed.
    package func replaceVaultKey(of account: Account, keeping method: UnlockMethod) async throws -> ReplacedVaultKey {
        try method.requireSecret()
        guard method.kind != .recovery else {
            throw VaultError(
                .configurationInvalid,
                "A recovery code opens an account only once, so it cannot be the unlock method that is kept. Use another unlock method, or set a new password with the code."
            )
        }
        do {
            try account.requireKeyService(for: "A new vault key")
            try await requireMayAddKeyslot(to: account)
            let found = try await openedKeyslot(account, with: method)
            guard found.slot.needsKeyService else {
                throw VaultError(
                    .configurationInvalid,
                    "An unlock method without the key service cannot be the one that is kept. Use another unlock method."
                )
            }
            let current = try await current(account)
            // The key service told of guesses from elsewhere, so the login has just renewed it.
            let kept = history.current(found.slot.id)
            guard let slot = current.keyslots.first(where: { $0.id == kept }) else {
                throw Self.keyslotsChanged(current)
            }
            let vaultKey = try VaultKey.random()
            let new: Keyslot
            do {
                new = try await making(with: found.account.vaultKey)
                    .remade(slot, of: current, found.opened, with: method, vaultKey: vaultKey)
            } catch {
                // The secret was right a moment ago, so another program has replaced the vault key meanwhile.
                let error = VaultError.converting(error)
                throw (error as? VaultError)?.isOfReplacedVaultKey == true ? Self.keyslotsChanged(current) : error
            }
            FaultPoint.keyslotMade.reach()
            return try await replace(
                found.account.vaultKey, of: current, by: vaultKey, keeping: new, secret: method.typedSecret
            ) { current in
                guard current.keyslots.contains(where: { $0.id == kept }) else { throw Self.keyslotsChanged(current) }
                return current.keyslots.filter { $0.id != kept }
            }
        } catch {
            throw VaultError.converting(error)
        }
    }

    /// As ``replaceVaultKey(of:keeping:)``, for an account that is open. A new password is the unlock method that is
    /// kept.
    func replaceVaultKey(
        _ old: VaultKey, withPassword new: borrowing SecretBytes, of account: Account
    ) async throws -> ReplacedVaultKey {
        try requireAllowed(.password)
        let vaultKey = try VaultKey.random()
        let slot = try await making(with: old).typedSlot(.password, new, account, vaultKey)
        FaultPoint.passwordKeyCreated.reach()
        let ofPassword = currentIDs(of: account, where: \.isOfPassword)
        return try await replace(
            old, of: account, by: vaultKey, keeping: slot, secret: SharedSecret(new.copy())
        ) { current in
            try Self.requirePassword(ofPassword, in: current)
            return current.keyslots.filter { $0.kind != .password }
        }
    }

    /// Returns the maker of the new keyslot.
    func making(with old: VaultKey) -> Accounts {
        var making = self
        making.presentVaultKey = old
        return making
    }

    /// - Parameters:
    ///   - new: the keyslot that is kept. It holds the new vault key.
    ///   - url: the key service of the account from now on; nil if it stays. `account` has it already.
    ///   - ended: returns the unlock methods that end. It throws if the account has changed.
    func replace(
        _ old: VaultKey, of account: Account, by vaultKey: VaultKey, keeping new: Keyslot, secret: SharedSecret?,
        movingTo url: String? = nil, _ ended: @escaping @Sendable (_ current: Account) throws -> [Keyslot]
    ) async throws -> ReplacedVaultKey {
        let endedKeyslots = Lock<[Keyslot]>([])
        let swap = KeyslotSwap(
            new: new, secret: secret, vaultKey: vaultKey, replacedKey: old, newKeyServiceURL: url,
            faults: (.vaultKeyStaged, .vaultKeyVerified, .vaultKeyReplaced))
        try await self.swap(swap, into: account) { current in
            let gone = try ended(current)
            try await requireCurrent(old, of: current, as: account)
            endedKeyslots.withLock { $0 = gone }
            var changes = try await resealing(current.id, from: old, to: vaultKey)
            if let url { changes.append(.putAccount(current.moved(to: url))) }
            return try current.keyslotIDs { _ in true }.map { .removeKeyslot(id: $0) } + changes
                + [
                    RetiredKeys.resealing(current.id, from: old, to: vaultKey),
                    VaultKeyRecord(store: store, account: current.id).noting(vaultKey),
                ]
        }
        logger.notice("replaced the vault key", metadata: account.id.logMetadata)
        return ReplacedVaultKey(vaultKey: vaultKey, oldKey: old, endedKeyslots: endedKeyslots.withLock { $0 })
    }

    /// Returns the changes that seal all items under another vault key. A damaged item stays as it is.
    private func resealing(
        _ id: AccountID, from old: VaultKey, to new: VaultKey
    ) async throws -> [StoreChange] {
        let (before, after) = (
            ItemContents(store: store, id: id, vaultKey: old), ItemContents(store: store, id: id, vaultKey: new)
        )
        var rewritten: [StoreChange] = []
        var names: Set<ItemName> = []
        var chunks: SealedChunks?
        for name in try await store.itemNames(of: id) {
            // The old vault key opens the chunks of these items themselves, so they need new chunks.
            guard let head = try await store.item(name, of: id), SealedStream.isHead(head) else { continue }
            do {
                guard let item = try await before.item(name) else { continue }
                let change = try await after.sealed(item.content, as: name.ofStored, sharing: chunks)
                if case .putChunks(_, _, let stored) = change { chunks = stored }
                rewritten.append(change)
                names.insert(name)
            } catch let error as VaultError where error.code == .storeCorrupt {}
        }
        let done = names
        return rewritten + [
            .resealItems { name, sealed in
                guard !done.contains(name) else { return sealed }
                return try old.resealed(sealed, as: name.ofStored, of: id, under: new) ?? sealed
            }
        ]
    }

    static func keyslotsChanged(_ account: Account) -> VaultError {
        VaultError(
            .busy, "Another program changed the unlock methods of \(account.displayName) meanwhile. Try again.")
    }
}
