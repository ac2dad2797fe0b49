internal import VaultCrypto
internal import VaultStorage

/// A keyslot that replaces others.
struct KeyslotSwap: Sendable {
    let new: Keyslot
    /// The typed secret. Only a keyslot of protocol version 1 needs it.
    let secret: SharedSecret?
    let vaultKey: VaultKey
    /// The vault key that ``vaultKey`` replaces. It opens what the old keyslots hold. Nil if the vault key stays.
    var replacedKey: VaultKey?
    /// The key service of the account from now on; nil if it stays.
    var newKeyServiceURL: String?
    /// The places where the crash tests stop.
    let faults: (staged: FaultPoint, verified: FaultPoint, swapped: FaultPoint)
}

extension Accounts {
    /// Replaces keyslots by another one. The new one is staged and opened once as a test. Then it replaces the others
    /// in one transaction. So after a crash at any point either the old keyslots or the new one open the account.
    /// Afterwards the keys of the removed ones are ended. If the swap fails, the new key is ended.
    ///
    /// - Parameter changes: returns the other changes, above all the removal of the old keyslots. It throws if the
    ///   account has changed. It is called under the account's lock.
    func swap(
        _ swap: KeyslotSwap, into account: Account,
        _ changes: @escaping @Sendable (_ current: Account) async throws -> [StoreChange]
    ) async throws {
        let id = account.id
        do {
            // A renewed token that is not stored yet is sealed under the old vault key.
            let retired = try await withLock(on: id, storesFirst: swap.replacedKey != nil) { _ in
                let current = try await current(account)
                let after = swap.newKeyServiceURL.map { current.moved(to: $0) } ?? current
                let present = swap.replacedKey ?? swap.vaultKey
                let changes =
                    try await [
                        VaultKeyRecord(store: store, account: id).requiring(present)
                    ] + changes(current)
                let left = try await apply([.stageKeyslot(swap.new)], to: id, retiringKeysOf: current, present)
                swap.faults.staged.reach()
                do {
                    try await verify(swap, of: after)
                    swap.faults.verified.reach()
                    var retired = try await apply(
                        changes + [.activateKeyslot(id: swap.new.id)], to: id, retiringKeysOf: current, present,
                        for: after)
                    swap.faults.swapped.reach()
                    retired.kinds.merge(left.kinds) { $1 }
                    return retired
                } catch {
                    await unstage(swap.new, of: current)
                    throw error
                }
            }
            await end(retired, of: id)
            await claimNewKeys(of: account, swap.vaultKey)
        } catch {
            // On the list of keys to end, the signature of the new key is sealed under the present vault key.
            await discard(swap.new, of: account, swap.replacedKey ?? swap.vaultKey)
            throw VaultError.converting(error)
        }
    }

    /// Removes a keyslot that is still staged. It opens nothing. If it cannot be removed now, the next login or change
    /// removes it.
    func unstage(_ slot: Keyslot, of account: Account) async {
        // In a new task: the store does nothing for a cancelled task.
        await Task {
            guard (try? await store.stagedKeyslot(of: account.id))?.id == slot.id else { return }
            _ = try? await apply([.removeKeyslot(id: slot.id)], to: account.id, retiringKeysOf: account)
        }.value
    }

    /// Opens the slot as it is stored, with the key from the key service. With protocol version 2 the first
    /// confirmation has proven the key, so the stored bytes are compared.
    private func verify(_ swap: KeyslotSwap, of account: Account) async throws {
        guard let staged = try await store.stagedKeyslot(of: account.id), staged.id == swap.new.id else {
            throw VaultError(
                .storeUnreadable,
                "The new \(swap.new.kind.displayName) was not stored. The old one still works. Try again.")
        }
        let wasStoredWithErrors = VaultError(
            .storeCorrupt,
            "The new \(swap.new.kind.displayName) was stored with errors. The old one still works. Try again.")
        guard staged.keyServiceProtocol == 1, let secret = swap.secret else {
            guard staged.opensLike(swap.new) else { throw wasStoredWithErrors }
            return
        }
        let keys = try keys(of: staged, account)
        let input = try await staged.stretched(secret, of: account, cost: argon2, size: keys.inputSize)
        let opened = try await keys.open(staged, of: account, input: input, spendsLastGuess: false)
        guard try await opened.vaultKey.isEqual(to: swap.vaultKey) else {
            throw wasStoredWithErrors
        }
    }
}

extension Keyslot {
    /// Whether all values that opening needs are the same.
    fileprivate func opensLike(_ other: Keyslot) -> Bool {
        id == other.id && kind == other.kind && salt == other.salt && argon2 == other.argon2 && keyID == other.keyID
            && keyServiceProtocol == other.keyServiceProtocol && wrapped == other.wrapped
            && protection == other.protection && check == other.check
            && endSignature == other.endSignature
    }
}
