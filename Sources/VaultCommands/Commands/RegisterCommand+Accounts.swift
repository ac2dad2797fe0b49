internal import CredentialVault

// What the accounts that are here already mean for a registration. It is looked at before the person signs in.
extension RegisterCommand {
    /// Refuses an alias that is a name of an account here. A person who registers this account again needs no alias.
    ///
    /// - Throws: `VaultError` with code `aliasTaken`, or `configurationInvalid` if the text cannot be an alias.
    static func requireFree(_ alias: String, in storage: any StorageProtocol) async throws {
        try await storage.checkAlias(alias)
        let owner: Account
        do {
            owner = try await storage.account(userID: alias)
        } catch let error as VaultError where error.code == .accountNotFound {
            return
        }
        throw VaultError(
            .aliasTaken,
            "The alias \(alias) is a name of \(owner.id). Choose another alias. To register that account again, leave out --alias.",
            accounts: [owner.id])
    }
}
