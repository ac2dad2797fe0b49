internal import KeyServiceClient
internal import OpenIDConnect
internal import VaultAgentProtocol
internal import VaultAuth
internal import VaultBase
internal import VaultStorage
internal import VaultUnlock

/// Gets the access tokens for key services from the agent, which holds the session.
struct AgentOwnerTokens: OwnerTokenSource {
    let holder: AgentKeyHolder
    let clock: any WallClock

    func accessToken(of id: AccountID, for audience: String, vaultKey: VaultKey) async throws -> AccessToken {
        guard
            case .token(let answer) = try await holder.client.ask(
                .token(AgentAccount(id), AgentTokenWish(audience: audience)))
        else { throw AgentClient.unexpected }
        return AccessToken(answer)
    }

    func proof(of token: String, account id: AccountID, vaultKey: VaultKey) async throws -> OwnerToken.Proof {
        try proof(of: token, with: await holder.data(.proofKey(AgentAccount(id))))
    }

    func proof(of token: String, with key: [UInt8]) throws -> OwnerToken.Proof {
        do {
            return try DPoPKey(rawRepresentation: key).proof(ofOwnerToken: token, clock: clock)
        } catch {
            throw VaultError.converting(error)
        }
    }
}
