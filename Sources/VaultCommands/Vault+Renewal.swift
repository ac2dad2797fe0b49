internal import CredentialVault

extension Vault {
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
