internal import VaultStorage
internal import VaultUnlock

/// The items of an account that is open in this process.
struct LocalItems: ItemSource {
    let accounts: Accounts
    let id: AccountID
    /// Whether the session is still open.
    let isOpen: @Sendable () -> Bool
    /// Returns the vault key, or throws the reason why it cannot.
    let vaultKey: @Sendable () async throws -> VaultKey
    /// Returns the error for the caller. Ends the session if its vault key was replaced.
    let explain: @Sendable (_ error: any Error, _ used: VaultKey) async -> any Error

    func names() async throws -> [ItemName] {
        try await converting { _ in try await accounts.itemsOfApps(of: id) }
    }

    func read(_ name: ItemName) async throws -> StoredItem? {
        try await converting { contents in
            try name.requireOfApp()
            return try await contents.item(name)
        }
    }

    func write<Content: AsyncSequence & Sendable>(
        _ name: ItemName, _ content: Content, if expected: ItemExpectation
    ) async throws -> Bool where Content.Element == [UInt8] {
        try await converting { contents in
            try name.requireOfApp()
            // Not under the account's lock: content may come slowly, and a refresh needs that lock.
            let change = try await contents.sealed(content, as: name)
            FaultPoint.itemSealed.reach()
            let isExpected = try await withCurrentAccount(contents) {
                let revision = try await contents.revision(name)
                guard expected.accepts(revision) else { return false }
                try await accounts.store.apply([change], to: id, sealedUnder: contents.vaultKey)
                return true
            }
            if isExpected { FaultPoint.itemStored.reach() }
            return isExpected
        }
    }

    func remove(_ name: ItemName) async throws -> Bool {
        try await converting { contents in
            try name.requireOfApp()
            return try await withCurrentAccount(contents) {
                guard try await contents.revision(name) != nil else { return false }
                try await accounts.store.apply([.removeItem(name)], to: id, sealedUnder: contents.vaultKey)
                return true
            }
        }
    }

    @Sendable private func requireOpen() throws {
        guard isOpen() else { throw VaultError(.notLoggedIn, "The session was locked meanwhile. Log in again.") }
    }

    /// Runs `body` under the account's lock, if the vault key is still the account's.
    private func withCurrentAccount<R: Sendable>(
        _ contents: ItemContents, _ body: @Sendable () async throws -> R
    ) async throws -> R {
        try await accounts.withLock(on: id) { _ in
            try requireOpen()
            let account = try await accounts.account(id)
            // If another program registered the account again, its vault key would not open these bytes.
            try await accounts.requireCurrent(contents.vaultKey, of: account, as: account)
            return try await body()
        }
    }

    private func converting<R>(_ body: (ItemContents) async throws -> R) async throws -> R {
        let vaultKey: VaultKey
        do { vaultKey = try await self.vaultKey() } catch { throw VaultError.converting(error) }
        let contents = ItemContents(
            store: accounts.store, id: id, vaultKey: vaultKey, requireOpen: requireOpen,
            explain: { [explain] in await explain($0, vaultKey) })
        do { return try await body(contents) } catch { throw await explain(error, vaultKey) }
    }
}
