public import VaultStorage
internal import VaultUnlock

// Information about an open account. It can be read without the network, and after the provider refused the account.
extension Session {
    /// Returns the person's identity from the last ID token or the backend.
    ///
    /// - Throws: ``VaultError`` with code `notLoggedIn` if the session was locked (log in again), `storeUnreadable`
    ///   (try again), or `storeCorrupt` (restore a backup).
    public func identity() async throws -> RefreshToken.Identity {
        let vaultKey = try openVaultKey()
        do {
            return try await accounts.identity(of: accounts.account(id), vaultKey: vaultKey)
        } catch {
            throw await ended(by: error, using: vaultKey)
        }
    }

    /// Returns the granted scopes and the end of the access token, as far as these are known.
    ///
    /// - Throws: ``VaultError`` with code `notLoggedIn` if the session was locked (log in again), `accountNotFound`
    ///   (register), or `storeUnreadable` (try again).
    public func grant() async throws -> Grant {
        _ = try openVaultKey()
        do {
            return Grant(of: try await accounts.account(id))
        } catch {
            throw VaultError.converting(error)
        }
    }
}
