public import VaultStorage

// What is sealed in an open account. It can be read and written without the network, and also when the provider refuses the
// account.
extension Session {
    /// What is known of the person: what the last ID token, or the backend, said.
    ///
    /// - Throws: ``VaultError``: `notLoggedIn` when the session was locked, `storeUnreadable`, `storeCorrupt`.
    public func identity() async throws -> RefreshToken.Identity {
        let vaultKey = try openVaultKey()
        do {
            return try await accounts.identity(of: accounts.account(id), vaultKey: vaultKey)
        } catch {
            throw VaultError.converting(error)
        }
    }

    /// What the provider granted, and when the access token ends, as far as that is known.
    ///
    /// - Throws: ``VaultError``: `notLoggedIn` when the session was locked, `accountNotFound`, `storeUnreadable`.
    public func grant() async throws -> Grant {
        _ = try openVaultKey()
        do {
            return Grant(of: try await accounts.account(id))
        } catch {
            throw VaultError.converting(error)
        }
    }

    /// The bytes of an item of the app's own; nil when there is none.
    ///
    /// - Throws: ``VaultError``: `notLoggedIn` when the session was locked, `storeUnreadable`, `storeCorrupt`.
    public func item(_ name: ItemName) async throws -> [UInt8]? {
        let key = try openVaultKey()
        do {
            guard let sealed = try await accounts.store.item(name, of: id) else { return nil }
            return try await key.open(sealed, as: name, of: id)
        } catch {
            throw VaultError.converting(error)
        }
    }

    /// Seals bytes as an item of the app's own, in place of what it was; nil removes it. They are durable when this
    /// returns.
    ///
    /// - Parameter name: does not begin with `vault/`.
    /// - Throws: ``VaultError``: `notLoggedIn` when the session was locked, `configurationInvalid` for a name that the
    ///   vault keeps for itself, `busy` when the account was registered again meanwhile, `accountNotFound`,
    ///   `storeUnreadable`. Nothing was changed then.
    public func setItem(_ name: ItemName, to content: [UInt8]?) async throws {
        let key = try openVaultKey()
        do {
            let change: StoreChange =
                if let content { .putItem(name, try await key.seal(content, as: name, of: id)) } else { .removeItem(name) }
            try await accounts.withLock(on: id) { [accounts, id] _ in
                guard isOpen else { throw VaultError(.notLoggedIn, "The session was locked meanwhile. Log in again.") }
                let account = try await accounts.account(id)
                // Another program may have registered the account again: under its vault key these bytes would not open.
                try await accounts.requireCurrent(key, of: account, as: account)
                try await accounts.store.apply([change], to: id)
            }
        } catch {
            throw VaultError.converting(error)
        }
    }
}
