internal import VaultBase
internal import VaultStorage
internal import VaultUnlock

/// Remembers the account of each name until the store changes.
final class KnownNames: Sendable {
    private let accounts: Accounts
    /// A number that changes with the store. If it is nil, nothing is remembered.
    private let version: @Sendable () -> Int64?
    private let known = Lock<(version: Int64?, ids: [String: AccountID])>((nil, [:]))

    init(accounts: Accounts, version: @escaping @Sendable () -> Int64?) {
        self.accounts = accounts
        self.version = version
    }

    /// Returns the account, if it was looked up since the last change of the store.
    func known(_ name: String) -> AccountID? {
        guard let version = version() else { return nil }
        return known.withLock { $0.version == version ? $0.ids[name] : nil }
    }

    /// Looks up the account that a person names. An empty name stands for the only account.
    ///
    /// - Throws: ``VaultError`` with code `accountNotFound` or `accountAmbiguous`.
    func find(_ name: String) async throws -> AccountID {
        // Before the lookup: a change in between gives another version.
        let version = version()
        let id = try await found(name)
        guard let version else { return id }
        known.withLock { known in
            if known.version != version || known.ids.count > 1000 { known = (version, [:]) }
            known.ids[name] = id
        }
        return id
    }

    private func found(_ name: String) async throws -> AccountID {
        guard name.isEmpty else { return try await accounts.find(name, issuer: nil).id }
        let all = try await accounts.store.accounts()
        guard let only = all.first, all.count == 1 else {
            throw VaultError(.accountAmbiguous, "There are \(all.count) accounts here. Name one.")
        }
        return only.id
    }
}
