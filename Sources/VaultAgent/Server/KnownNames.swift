internal import VaultBase
internal import VaultStorage
internal import VaultUnlock

/// Remembers the account of each name until the store changes.
final class KnownNames: Sendable {
    private let accounts: Accounts
    /// A number that changes with the store. If it is nil, nothing is remembered.
    private let version: @Sendable () -> Int64?
    private let tick: (@Sendable () -> Int)?
    /// The accounts, and the tick of the last look at the store's version.
    private let known = Lock<(version: Int64?, tick: Int?, ids: [String: AccountID])>((nil, nil, [:]))

    /// - Parameter tick: returns a number that changes when the store must be looked at again; nil to look each time.
    init(accounts: Accounts, version: @escaping @Sendable () -> Int64?, tick: (@Sendable () -> Int)?) {
        self.accounts = accounts
        self.version = version
        self.tick = tick
    }

    /// Returns the account, if it was looked up since the last change of the store. Within one tick, a change can be
    /// missed.
    func known(_ name: String) -> AccountID? {
        let tick = tick?()
        if let tick, let id = known.withLock({ $0.tick == tick ? $0.ids[name] : nil }) { return id }
        guard let version = version() else { return nil }
        return known.withLock { known in
            guard known.version == version else { return nil }
            known.tick = tick
            return known.ids[name]
        }
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
            if known.version != version || known.ids.count > 1000 { known = (version, nil, [:]) }
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
