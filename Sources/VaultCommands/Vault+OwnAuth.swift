internal import CredentialVault

extension Vault {
    /// The vault's own login, which can do more than an app's.
    ///
    /// - Throws: ``VaultError`` with code `configurationInvalid` if the vault was made with another login.
    var ownAuth: Auth {
        get throws {
            guard let auth = auth as? Auth else {
                throw VaultError(.configurationInvalid, "This vault was made of other parts.")
            }
            return auth
        }
    }

    /// Renews the access token of an opened account if its next new key goes on the list of devices: the list needs a
    /// valid token. Without one, a later login lists the key.
    ///
    /// - Throws: ``VaultError`` if renewed tokens cannot be stored. Any other failure only delays the list.
    func renewTokenForList(of id: AccountID, _ vaultKey: VaultKey) async throws {
        guard let accounts = try? accounts, await accounts.listsKeys(of: id, vaultKey),
            let session = try? await ownAuth.adopt(id, vaultKey: vaultKey, isOffline: false, hasSecret: true)
        else { return }
        do {
            _ = try await session.retryingAccessToken(forceRefresh: false)
        } catch {
            // The tokens would be lost when the command ends.
            if await session.holdsUnstoredToken { throw error }
        }
    }
}
