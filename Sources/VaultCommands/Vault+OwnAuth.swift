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
}
