package import OpenIDConnect
package import VaultCrypto
package import VaultStorage

/// Reaches the agent, the process that holds accounts open for other programs.
///
/// A conformer must not assume that an agent runs.
package protocol SessionAgent: Sendable {
    /// Connects to the session of an account.
    ///
    /// - Throws: ``VaultError``: `notLoggedIn` when no agent runs, or when it does not hold the account open.
    func attach(_ id: AccountID) async throws -> AttachedAccount
}

/// An account that the agent holds open.
package struct AttachedAccount: Sendable {
    package let link: any AgentLink
    package let vaultKey: VaultKey
    package let isOffline: Bool
    /// Why the provider refused the account, if it did.
    package let refusal: VaultError?

    package init(link: any AgentLink, vaultKey: VaultKey, isOffline: Bool, refusal: VaultError?) {
        self.link = link
        self.vaultKey = vaultKey
        self.isOffline = isOffline
        self.refusal = refusal
    }
}

/// A session's connection to the agent.
///
/// A conformer must not assume that the session is still open: other programs lock it.
package protocol AgentLink: Sendable {
    /// A valid access token.
    func accessToken(_ request: RefreshTransaction.Request) async throws -> (token: AccessToken, isNew: Bool)
    /// The key that the access token is bound to (RFC 9449); nil when it is not.
    func proofKey() async throws -> DPoPKey?
    /// Gives the account a PIN, in UTF-8.
    func setPIN(_ pin: borrowing SecretBytes) async throws
    /// What happens to the session. The stream ends with `locked` when the agent ends.
    func updates() -> AsyncStream<SessionUpdate>
    /// Lets go of the session.
    ///
    /// - Parameter isLocking: whether the agent locks it, for all programs.
    func leave(locking isLocking: Bool) async
}
