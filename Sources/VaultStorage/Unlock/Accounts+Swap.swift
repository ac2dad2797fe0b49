internal import VaultCrypto

/// A keyslot that is to replace others, with its secret.
struct KeyslotSwap: Sendable {
    let new: Keyslot
    let secret: SharedSecret
    let vaultKey: VaultKey
    /// Where a crash is tried out.
    let faults: (staged: FaultPoint, verified: FaultPoint, swapped: FaultPoint)
}

extension Accounts {
    /// Puts a keyslot into the place of others. It is staged, opened once to prove that it works, and only then takes their
    /// place, in one transaction: after a crash at any point either they open the account, or it does. The keys of those
    /// that went are ended afterwards, and so is the new one's key when it did not come to that.
    ///
    /// - Parameter changes: gives what is changed with it, the removal of the others above all, or throws when the account
    ///   is not as it was. It is called under the account's lock.
    func swap(
        _ swap: KeyslotSwap, into account: Account,
        _ changes: @escaping @Sendable (_ current: Account) async throws -> [StoreChange]
    ) async throws {
        let id = account.id
        do {
            let retired = try await withLock(on: id) { _ in
                let current = try await current(account)
                let changes = try await changes(current)
                let left = try await apply([.stageKeyslot(swap.new)], to: id, retiringKeysOf: current)
                swap.faults.staged.reach()
                do {
                    try await verify(swap, of: current)
                    swap.faults.verified.reach()
                    var retired = try await apply(
                        changes + [.activateKeyslot(id: swap.new.id)], to: id, retiringKeysOf: current)
                    swap.faults.swapped.reach()
                    retired.kinds.merge(left.kinds) { $1 }
                    return retired
                } catch {
                    await unstage(swap.new, of: current)
                    throw error
                }
            }
            await end(retired, of: id)
        } catch {
            await discard(swap.new, of: account)
            throw VaultError.converting(error)
        }
    }

    /// Removes a keyslot that is still staged. It opens nothing, so where it cannot be removed now, the next login or
    /// change does it.
    func unstage(_ slot: Keyslot, of account: Account) async {
        // In a task of its own: the store does nothing more for one that was cancelled.
        await Task {
            guard (try? await store.stagedKeyslot(of: account.id))?.id == slot.id else { return }
            _ = try? await apply([.removeKeyslot(id: slot.id)], to: account.id, retiringKeysOf: account)
        }.value
    }

    /// Opens the slot as it was stored, with the key as the key service stored it.
    private func verify(_ swap: KeyslotSwap, of account: Account) async throws {
        guard let staged = try await store.stagedKeyslot(of: account.id), staged.id == swap.new.id else {
            throw VaultError(
                .storeUnreadable, "The new \(swap.new.kind.displayName) was not stored. The old one still works.")
        }
        let opened = try await SecretKeyslot.open(
            staged, of: account, secret: swap.secret.bytes, keyService: keyService(account.keyServiceURL),
            cost: argon2)
        guard try await opened.vaultKey.isEqual(to: swap.vaultKey) else {
            throw VaultError(
                .storeCorrupt,
                "The new \(swap.new.kind.displayName) was not stored as it should be. The old one still works.")
        }
    }
}
