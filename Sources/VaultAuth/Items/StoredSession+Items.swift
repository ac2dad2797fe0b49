package import VaultStorage
internal import VaultUnlock

// The app's own items. Names that an app's item cannot have, and content beyond ``SessionItems/maximumSize``, are refused.
extension StoredSession {
    package func itemNames() async throws -> [ItemName] {
        try await converting { _ in try await account.accounts.itemsOfApps(of: id) }
    }

    package func item(_ name: ItemName) async throws -> StoredItem? {
        try await converting { contents in
            try name.requireOfApp()
            return try await contents.item(name)
        }
    }

    package func setItem<Content: AsyncSequence & Sendable>(
        _ name: ItemName, from content: Content, if expected: ItemExpectation
    ) async throws -> Bool where Content.Element == [UInt8] {
        try await converting { contents in
            try name.requireOfApp()
            // Not under the account's lock: content may come slowly, and a refresh needs that lock.
            let change = try await contents.sealed(content, as: name)
            FaultPoint.itemSealed.reach()
            let isExpected = try await withCurrentAccount(contents) {
                let revision = try await contents.revision(name)
                guard expected.accepts(revision) else { return false }
                try await account.accounts.store.apply([change], to: id, sealedUnder: contents.vaultKey)
                return true
            }
            if isExpected { FaultPoint.itemStored.reach() }
            return isExpected
        }
    }

    package func removeItem(_ name: ItemName) async throws -> Bool {
        try await converting { contents in
            try name.requireOfApp()
            return try await withCurrentAccount(contents) {
                guard try await contents.revision(name) != nil else { return false }
                try await account.accounts.store.apply([.removeItem(name)], to: id, sealedUnder: contents.vaultKey)
                return true
            }
        }
    }

    /// Runs `body` under the account's lock, if the vault key is still the account's.
    private func withCurrentAccount<R: Sendable>(
        _ contents: ItemContents, _ body: @Sendable () async throws -> R
    ) async throws -> R {
        try await account.accounts.withLock(on: id) { _ in
            try account.requireOpen()
            let stored = try await account.accounts.account(id)
            // If another program registered the account again, its vault key would not open these bytes.
            try await account.accounts.requireCurrent(contents.vaultKey, of: stored, as: stored)
            return try await body()
        }
    }

    private func converting<R>(_ body: (ItemContents) async throws -> R) async throws -> R {
        let vaultKey = try account.vaultKey()
        let contents = ItemContents(
            store: account.accounts.store, id: id, vaultKey: vaultKey, requireOpen: account.requireOpen,
            explain: { [account] in await account.explained($0, using: vaultKey) })
        do { return try await body(contents) } catch { throw await account.explained(error, using: vaultKey) }
    }
}
