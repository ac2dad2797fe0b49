internal import KeyServiceClient
internal import OpenIDConnect
internal import VaultBase
internal import VaultStorage
internal import VaultUnlock

/// Gets the access tokens for key services from the issuers of the accounts.
struct IssuedOwnerTokens: OwnerTokenSource {
    let accounts: Accounts
    let issuers: Issuers

    func accessToken(
        of id: AccountID, for audience: String, vaultKey: VaultKey
    ) async throws -> AccessToken {
        let account = try await accounts.account(id)
        let source = issuers.source(of: account)
        let transaction = RefreshTransaction(
            id: id, vaultKey: vaultKey, store: accounts.store, unstored: accounts.unstored,
            issuer: try issuers.issuer(source), source: source, isWanted: { true }, clock: accounts.clock,
            logger: accounts.logger, audience: audience)
        do {
            return try await transaction.run(.init(force: true, minimumValidity: .zero, at: accounts.clock.now)).token
        } catch {
            throw Self.explained(error, account.displayName, audience)
        }
    }

    func proof(of token: String, account id: AccountID, vaultKey: VaultKey) async throws -> OwnerToken.Proof {
        let items = TokenItems(store: accounts.store, id: id, vaultKey: vaultKey)
        guard let key = try await items.credential()?.proofKey else {
            throw VaultError(
                .storeCorrupt, "The key that the access token is bound to is missing. Register the account again.")
        }
        return try proof(of: token, with: key)
    }

    func proof(of token: String, with key: [UInt8]) throws -> OwnerToken.Proof {
        do {
            return try DPoPKey(rawRepresentation: key).proof(ofOwnerToken: token, clock: accounts.clock)
        } catch {
            throw VaultError.converting(error)
        }
    }

    /// Returns the error of a provider that refuses the audience.
    static func explained(_ error: any Error, _ name: String, _ audience: String) -> any Error {
        let cause = error as? OpenIDConnectError ?? (error as? VaultError)?.underlying as? OpenIDConnectError
        guard cause?.providerError == "invalid_target" else { return error }
        return Accounts.notRestricted(name, audience, nil)
    }
}
