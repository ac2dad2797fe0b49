internal import Foundation
internal import VaultBase
internal import VaultCrypto
package import VaultStorage

// The unlock methods, except the password. Each is added and removed in one step, so a crash leaves it there or gone.
extension Accounts {
    /// Adds a keyslot that was made for the account. If only one of its kind is allowed, it replaces the old one, and
    /// the key of the old one is ended.
    ///
    /// - Throws: ``VaultError``. Then nothing was changed: try again, or call ``discard(_:of:_:)``.
    package func add(_ slot: Keyslot, to account: Account, vaultKey: VaultKey) async throws {
        try requireAllowed(slot.kind)
        if !slot.needsKeyService { try requireAllowed(.offline) }
        try await requirePolicyInSight()
        try await put(slot, in: account, vaultKey)
    }

    /// Removes an unlock method and ends its key at the key service. If the key cannot be ended, a notice tells the
    /// person (see ``onNotice(_:)``), and the next login tries again.
    ///
    /// - Throws: ``VaultError`` with code `lastUnlockMethod` if no other unlock method opens the account with the
    ///   network: add one first.
    package func removeKeyslot(_ id: String, of account: AccountID) async throws {
        let id = history.current(id)
        try await remove(from: account) { current in
            let ids = current.keyslots.map(\.id) + current.damagedKeyslots.map(\.id)
            guard ids.contains(id) else {
                throw VaultError(
                    .notEnrolled, "This unlock method was removed already.", detail: .keyslotRemoved)
            }
            return [id]
        }
    }

    /// Gives an unlock method another label.
    ///
    /// - Parameter label: nil for none.
    package func renameKeyslot(_ id: String, of account: AccountID, to label: String?) async throws {
        let id = history.current(id)
        try await changing(account) { current in
            guard current.keyslots.contains(where: { $0.id == id }) else {
                throw VaultError(
                    .notEnrolled, "This unlock method was removed already.", detail: .keyslotRemoved)
            }
            return [.renameKeyslot(id: id, label: label)]
        }
    }

    // MARK: - The parts

    /// Adds an unlock method whose secret a person types. Replaces the old one of its kind.
    func addTyped(
        _ kind: Keyslot.Kind, _ secret: borrowing SecretBytes, to account: Account, vaultKey: VaultKey
    ) async throws -> Keyslot {
        try await requireMayAddKeyslot(to: account)
        let slot = try await typedSlot(kind, secret, account, vaultKey)
        FaultPoint.keyslotMade.reach()
        try await putOrDiscard(slot, in: account, vaultKey)
        return slot
    }

    /// Makes a keyslot whose secret a person types. Stores nothing.
    func typedSlot(
        _ kind: Keyslot.Kind, _ secret: borrowing SecretBytes, _ account: Account, _ vaultKey: VaultKey,
        madeAt date: Date? = nil
    ) async throws -> Keyslot {
        do {
            try account.requireKeyService(forNew: kind)
            let isLocal = kind == .offline || !account.hasKeyService
            let keys: any SlotKeyProtocol = isLocal ? LocalKeys() : try await newKeys(for: account)
            let draft = try await KeyslotDraft.typed(
                kind, secret, for: account, cost: isLocal ? offlineCost : argon2, inputSize: keys.inputSize,
                at: date ?? clock.now)
            return try await keys.make(draft, for: account, vaultKey: vaultKey)
        } catch {
            throw VaultError.converting(error)
        }
    }

    /// Adds a new keyslot, or ends its key if it cannot be added.
    func putOrDiscard(_ slot: Keyslot, in account: Account, _ vaultKey: VaultKey) async throws {
        do {
            try await put(slot, in: account, vaultKey)
        } catch {
            await discard(slot, of: account, vaultKey)
            throw error
        }
    }

    func put(_ slot: Keyslot, in account: Account, _ vaultKey: VaultKey) async throws {
        try await changing(account.id, vaultKey) { current in
            guard !history.isSpent(slot.keyID) else {
                throw VaultError(
                    .keyLocked,
                    "The key of this \(slot.kind.displayName) was ended. Make a new \(slot.kind.displayName).")
            }
            try await requireCurrent(vaultKey, of: current, as: account)
            let password = account.passwordKeyslot.map { history.current($0.id) }
            guard slot.kind != .offline || current.passwordKeyslot?.id == password else {
                throw VaultError(.busy, "Another program changed the password meanwhile. Try again.")
            }
            let replaced = slot.kind.isHardware ? [] : current.keyslotIDs { $0 == slot.kind }
            let requiring = try VaultKeyRecord(store: store, account: account.id).requiring(vaultKey)
            return [requiring] + replaced.map { .removeKeyslot(id: $0) } + [.putKeyslot(slot)]
        }
        FaultPoint.keyslotStored.reach()
    }

    /// Returns the present ids of an account's keyslots. Since the account was read, a login may have given some a new
    /// key, and removed others.
    func currentIDs(of account: Account, where isMeant: (Keyslot.Kind) -> Bool) -> Set<String> {
        Set(account.keyslotIDs(where: isMeant).filter { !history.isRemoved($0) }.map(history.current))
    }

    /// Refuses a vault key that was replaced, and a vault key or an account from before a new registration: a keyslot
    /// made with them would open nothing.
    package func requireCurrent(_ vaultKey: VaultKey, of current: Account, as account: Account) async throws {
        let anew = VaultError(
            .busy, "Another program registered the account again meanwhile. Log in, then try again.")
        guard current.deviceSecret == account.deviceSecret else { throw anew }
        try await VaultKeyRecord(store: store, account: current.id).require(vaultKey)
        do {
            // Every account has claims from the start.
            guard try await TokenItems(store: store, id: current.id, vaultKey: vaultKey).claims() != nil else {
                throw StoreError(
                    .corrupt, "The account \(current.id) is damaged: its claims are missing. Register it again.")
            }
        } catch let error as StoreError where error.code == .corrupt {
            // Without the account's lock, another program may have replaced the vault key between the two reads.
            try await VaultKeyRecord(store: store, account: current.id).require(vaultKey)
            throw anew
        }
    }

    /// The check runs under the same lock as the removal. Otherwise two programs could each remove the other's last
    /// unlock method.
    func remove(
        from account: AccountID, _ choose: @escaping @Sendable (Account) throws -> [String]
    ) async throws {
        try await changing(account) { current in
            var gone = Set(try choose(current))
            // The offline keyslot opens with the same password, so it is removed, too.
            if let password = current.passwordKeyslot?.id, gone.contains(password) {
                gone.formUnion(current.keyslotIDs { $0 == .offline })
            }
            // An unlock method without the key service works only for some days after the account was online. In an
            // account without a key service there are no other ones, and no such days.
            let online = current.keyslots.filter { $0.needsKeyService || !current.hasKeyService }
            let usable = online.filter(policy.allows)
            // An unlock method that the policy forbids counts only if all others were forbidden before, too.
            let counted = usable.contains { gone.contains($0.id) } ? usable : online
            let stays = counted.contains { !gone.contains($0.id) }
            guard stays || gone.isDisjoint(with: current.keyslots.map(\.id)) else {
                throw VaultError(
                    .lastUnlockMethod,
                    "Nothing else opens \(current.displayName)\(current.hasKeyService ? " with the network" : ""). Add another unlock method first."
                )
            }
            return gone.map { .removeKeyslot(id: $0) }
        }
    }

    private func changing(
        _ id: AccountID, _ vaultKey: VaultKey? = nil,
        _ changes: @escaping @Sendable (Account) async throws -> [StoreChange]
    ) async throws {
        do {
            let (account, retired) = try await withLock(on: id) { _ in
                guard let current = try await store.account(id) else {
                    throw VaultError(
                        .accountNotFound, "The account was deleted meanwhile. Register it again.")
                }
                return (current, try await apply(changes(current), to: id, retiringKeysOf: current, vaultKey))
            }
            await end(retired, of: id)
            if let vaultKey { await claimNewKeys(of: account, vaultKey) }
        } catch {
            throw VaultError.converting(error)
        }
    }
}
