internal import VaultLocks
internal import VaultStorage

/// Which account a name means, kept until the store changes.
final class KnownNames: Sendable {
    private let accounts: Accounts
    /// A number that changes when the store changes; nil when it is not known, and then nothing is kept.
    private let version: @Sendable () -> Int64?
    private let known = Lock<(version: Int64?, ids: [String: AccountID])>((nil, [:]))

    init(accounts: Accounts, version: @escaping @Sendable () -> Int64?) {
        self.accounts = accounts
        self.version = version
    }

    /// The account, if it was looked for since the last change of the store.
    func known(_ name: String) -> AccountID? {
        guard let version = version() else { return nil }
        return known.withLock { $0.version == version ? $0.ids[name] : nil }
    }

    /// Looks for the account that a person means; empty for the only one.
    ///
    /// - Throws: ``VaultError``: `accountNotFound`, `accountAmbiguous`.
    func find(_ name: String) async throws -> AccountID {
        // Before the look into the store: a change in between gives another version.
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
            throw VaultError(.accountAmbiguous, "There are \(all.count) accounts here.")
        }
        return only.id
    }
}
