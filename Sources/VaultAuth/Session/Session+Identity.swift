public import VaultStorage

// What is known of an open account. It can be read without the network, and also when the provider refuses the account.
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
}
