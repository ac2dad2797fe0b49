internal import Foundation
internal import KeyService
internal import VaultCrypto
internal import VaultHTTP

// Ways in, beside the password. Each is added and removed in one step: after a crash it is either there or not.
extension Accounts {
    /// Adds a keyslot that was made for the account, in place of one of its kind where there can be only one. The key of
    /// that one is ended at the key service.
    ///
    /// - Throws: ``VaultError``, with nothing changed: try again, or ``discard(_:of:)`` it.
    package func add(_ slot: Keyslot, to account: Account, vaultKey: VaultKey) async throws {
        try requireAllowed(slot.kind)
        if !slot.needsKeyService { try requireAllowed(.offline) }
        try await put(slot, in: account, vaultKey)
    }

    /// Removes a way in, and ends its key at the key service. What could not be ended is told (see ``onNotice(_:)``) and
    /// tried again later.
    ///
    /// - Throws: ``VaultError`` with code `lastWayIn` when nothing would be left that opens the account with the network.
    package func removeKeyslot(_ id: String, of account: AccountID) async throws {
        let id = history.current(id)
        try await remove(from: account) { current in
            let ids = current.keyslots.map(\.id) + current.damagedKeyslots.map(\.id)
            guard ids.contains(id) else { throw VaultError(.notEnrolled, "That way in is not there any more.") }
            return [id]
        }
    }

    /// Gives a way in another label.
    ///
    /// - Parameter label: nil for none.
    package func renameKeyslot(_ id: String, of account: AccountID, to label: String?) async throws {
        let id = history.current(id)
        try await changing(account) { current in
            guard current.keyslots.contains(where: { $0.id == id }) else {
                throw VaultError(.notEnrolled, "That way in is not there any more.")
            }
            return [.renameKeyslot(id: id, label: label)]
        }
    }

    // MARK: - The parts

    /// Adds a way in whose secret a person types, in place of one of its kind.
    func addTyped(
        _ kind: Keyslot.Kind, _ secret: borrowing SecretBytes, to account: Account, vaultKey: VaultKey
    ) async throws -> Keyslot {
        let slot = try await typedSlot(kind, secret, account, vaultKey)
        FaultPoint.keyslotMade.reach()
        try await putOrDiscard(slot, in: account, vaultKey)
        return slot
    }

    func typedSlot(
        _ kind: Keyslot.Kind, _ secret: borrowing SecretBytes, _ account: Account, _ vaultKey: VaultKey,
        madeAt date: Date? = nil
    ) async throws -> Keyslot {
        do {
            return try await SecretKeyslot.make(
                kind, for: account, vaultKey: vaultKey, secret: secret, keyService: keyService(account.keyServiceURL),
                parameters: argon2, now: date ?? clock.now)
        } catch {
            throw VaultError.converting(error)
        }
    }

    /// For a keyslot that nobody else has: what cannot be added is given up.
    func putOrDiscard(_ slot: Keyslot, in account: Account, _ vaultKey: VaultKey) async throws {
        do {
            try await put(slot, in: account, vaultKey)
        } catch {
            await discard(slot, of: account)
            throw error
        }
    }

    func put(_ slot: Keyslot, in account: Account, _ vaultKey: VaultKey) async throws {
        try await changing(account.id) { current in
            guard !history.isSpent(slot.keyID) else {
                throw VaultError(.keyLocked, "The key of this \(slot.kind.displayName) was ended. Make another one.")
            }
            try await requireCurrent(vaultKey, of: current, as: account)
            let password = account.passwordKeyslot.map { history.current($0.id) }
            guard slot.kind != .offline || current.passwordKeyslot?.id == password else {
                throw VaultError(.busy, "Another program changed the password meanwhile. Try again.")
            }
            let replaced = slot.kind.isHardware ? [] : current.keyslotIDs { $0 == slot.kind }
            return replaced.map { .removeKeyslot(id: $0) } + [.putKeyslot(slot)]
        }
        FaultPoint.keyslotStored.reach()
    }

    /// The ids that keyslots of an account have now, which may have been read before some of them got a new key.
    func currentIDs(of account: Account, where isMeant: (Keyslot.Kind) -> Bool) -> Set<String> {
        Set(account.keyslotIDs(where: isMeant).map(history.current))
    }

    /// Refuses a vault key, and an account, of before it was registered again: a keyslot made with them would open nothing.
    package func requireCurrent(_ vaultKey: VaultKey, of current: Account, as account: Account) async throws {
        let anew = VaultError(
            .busy, "Another program registered the account anew meanwhile. Log in again, and try again.")
        guard current.deviceSecret == account.deviceSecret else { throw anew }
        do {
            // Every account has its claims from the start.
            guard try await TokenItems(store: store, id: current.id, vaultKey: vaultKey).claims() != nil else {
                throw StoreError(.corrupt, "What the account \(current.id) began with is not stored any more.")
            }
        } catch let error as StoreError where error.code == .corrupt {
            throw anew
        }
    }

    /// What is left is judged under the lock that the removal is made under: two programs that each leave the other's way
    /// in would leave none.
    func remove(
        from account: AccountID, _ choose: @escaping @Sendable (Account) throws -> [String]
    ) async throws {
        try await changing(account) { current in
            var gone = Set(try choose(current))
            // The offline one opens with the password, and goes with it.
            if let password = current.passwordKeyslot?.id, gone.contains(password) {
                gone.formUnion(current.keyslotIDs { $0 == .offline })
            }
            // One that needs no key service opens only for a while after the account was online last.
            let online = current.keyslots.filter(\.needsKeyService)
            let usable = online.filter(policy.allows)
            // What the policy forbids opens nothing: it counts where nothing else was there to begin with.
            let counted = usable.contains { gone.contains($0.id) } ? usable : online
            let stays = counted.contains { !gone.contains($0.id) }
            guard stays || gone.isDisjoint(with: current.keyslots.map(\.id)) else {
                throw VaultError(
                    .lastWayIn,
                    "That would remove the last way into \(current.displayName) with the network. Add another one first."
                )
            }
            return gone.map { .removeKeyslot(id: $0) }
        }
    }

    private func changing(
        _ id: AccountID, _ changes: @escaping @Sendable (Account) async throws -> [StoreChange]
    ) async throws {
        do {
            let retired = try await withLock(on: id) { _ in
                guard let current = try await store.account(id) else {
                    throw VaultError(
                        .accountNotFound, "The account was deleted meanwhile. To use it again, register again.")
                }
                return try await apply(changes(current), to: id, retiringKeysOf: current)
            }
            await end(retired, of: id)
        } catch {
            throw VaultError.converting(error)
        }
    }
}
