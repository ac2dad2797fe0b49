/// The record of the public id of an account's vault key. The record changes together with the items, so a program with
/// an older vault key finds out before it writes.
///
/// An account without a record has had one vault key only. It gets its record at the next login.
package struct VaultKeyRecord: Sendable {
    private static let idSize = 16

    let store: any SecureStore
    let account: AccountID

    package init(store: any SecureStore, account: AccountID) {
        self.store = store
        self.account = account
    }

    private var name: String { account.recordPrefix + "vault-key" }

    /// Refuses a vault key that was replaced. A key in another process is checked there.
    ///
    /// - Throws: ``StoreError`` with code `vaultKeyReplaced`, and the errors of the store.
    package func require(_ vaultKey: VaultKey) async throws {
        guard let id = try vaultKey.publicID() else { return }
        let account = account
        try await store.withRecord(name) { try Self.require(id, in: $0, of: account) }
    }

    /// Makes a transaction fail if the vault key was replaced: the change to put before what the key sealed.
    package func requiring(_ vaultKey: VaultKey) throws -> StoreChange {
        guard let id = try vaultKey.publicID() else { return .changeRecord(name, mayBeLost: true) { _ in } }
        let account = account
        return .changeRecord(name, mayBeLost: true) { try Self.require(id, in: $0, of: account) }
    }

    package func noting(_ vaultKey: VaultKey) throws -> StoreChange {
        let id = try vaultKey.publicID()
        return .changeRecord(name) { $0 = id ?? $0 }
    }

    /// Notes the vault key that opened the account, if the account has no record yet, or a damaged one.
    ///
    /// - Parameter use: the note of use of the keyslot. It fails if the account was deleted meanwhile.
    package func adopt(_ vaultKey: VaultKey, with use: StoreChange) async throws {
        guard let id = try vaultKey.publicID() else { return }
        let present = try await store.withRecord(name) { $0 }
        guard present?.count != Self.idSize else { return }
        // Another program may have replaced the vault key since then. Its id must stay.
        let noting = StoreChange.changeRecord(name, mayBeLost: true) { if $0?.count != Self.idSize { $0 = id } }
        try await store.apply([use, noting], to: account)
    }

    private static func require(_ id: [UInt8], in bytes: [UInt8]?, of account: AccountID) throws {
        guard let bytes, bytes.count == idSize, bytes != id else { return }
        throw StoreError(
            .vaultKeyReplaced,
            "Another program replaced the vault key of \(account). Log in again.")
    }
}

extension SecureStore {
    /// Makes changes that hold what `vaultKey` sealed, or none of them if the account has another vault key by then.
    ///
    /// - Throws: ``StoreError``; with code `vaultKeyReplaced` in that case.
    package func apply(
        _ changes: [StoreChange], to id: AccountID, sealedUnder vaultKey: VaultKey
    ) async throws {
        try await apply([VaultKeyRecord(store: self, account: id).requiring(vaultKey)] + changes, to: id)
    }
}

extension VaultError {
    /// Whether the account got a new vault key. The session that has the old one is over: log in again.
    package var isOfReplacedVaultKey: Bool { (underlying as? StoreError)?.code == .vaultKeyReplaced }
}
