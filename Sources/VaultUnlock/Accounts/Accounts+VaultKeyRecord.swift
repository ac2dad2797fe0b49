internal import VaultCrypto
package import VaultStorage

// The record of the public id of an account's vault key, as far as it takes more than the store.
extension Accounts {
    /// Corrects a record that names another vault key than the one that just opened the account. Nothing authenticates
    /// the record, so somebody may have changed it.
    ///
    /// - Parameter slot: the keyslot that a person opened. It must still be stored, and the key must open the claims.
    func correctVaultKeyRecord(_ vaultKey: VaultKey, _ slot: Keyslot, of account: Account) async {
        let record = VaultKeyRecord(store: store, account: account.id)
        do {
            try await record.require(vaultKey)
        } catch let error as StoreError where error.code == .vaultKeyReplaced {
            try? await withLock(on: account.id) { _ in
                let current = try await current(account)
                let items = TokenItems(store: store, id: account.id, vaultKey: vaultKey)
                guard current.keyslots.contains(where: { $0.id == slot.id }), try await items.claims() != nil else {
                    return
                }
                try await store.apply([record.noting(vaultKey)], to: account.id)
            }
        } catch {
            // The store cannot be read now. Each write checks the record again.
        }
    }

    /// Returns the true reason of an error: what another vault key sealed is not damaged.
    package func explained(_ error: any Error, _ vaultKey: VaultKey, of id: AccountID) async -> any Error {
        let error = VaultError.converting(error)
        guard (error as? VaultError)?.code == .storeCorrupt else { return error }
        do {
            try await VaultKeyRecord(store: store, account: id).require(vaultKey)
            // The agent checks its own key when it opens something.
            if vaultKey.bytes == nil { _ = try await TokenItems(store: store, id: id, vaultKey: vaultKey).claims() }
            return error
        } catch let reason as StoreError where reason.code == .vaultKeyReplaced {
            return VaultError.converting(reason)
        } catch let reason as VaultError where reason.code == .notLoggedIn {
            return reason
        } catch {
            return VaultError.converting(error)
        }
    }
}
