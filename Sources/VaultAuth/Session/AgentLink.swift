package import OpenIDConnect
package import VaultCrypto
package import VaultStorage

/// A connection to the agent, the process that holds accounts open for other programs.
///
/// A conformer must not assume that an agent runs.
package protocol SessionAgent: Sendable {
    /// Connects to the session of an account.
    ///
    /// - Throws: ``VaultError`` with code `notLoggedIn` if no agent runs, or if it does not hold the account: log in.
    func attach(_ id: AccountID) async throws -> AttachedAccount
}

/// An account that the agent holds open.
package struct AttachedAccount: Sendable {
    package let link: any AgentLink
    package let vaultKey: VaultKey
    package let isOffline: Bool
    /// The provider's refusal of the account; nil if there is none.
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
/// A conformer must not assume that the session is still open: other programs can lock it.
package protocol AgentLink: Sendable {
    /// Returns a valid access token.
    func accessToken(_ request: RefreshTransaction.Request) async throws -> (token: AccessToken, isNew: Bool)
    /// Returns the key that the access token is bound to (RFC 9449); nil if it is not bound.
    func proofKey() async throws -> DPoPKey?
    /// Lets the agent open the account with a typed secret.
    ///
    /// - Returns: a ticket for ``setPIN(_:ticket:)``, which works for five minutes.
    func check(_ kind: Keyslot.Kind, _ secret: SharedSecret) async throws -> [UInt8]
    /// Gives the account a PIN, in UTF-8.
    func setPIN(_ pin: borrowing SecretBytes, ticket: [UInt8]) async throws
    /// Asks the provider to revoke the refresh token, and ends the session for all programs.
    ///
    /// - Returns: the reason why the provider did not revoke it; nil if it did.
    func logOutEverywhere() async throws -> VaultError?
    /// Returns the provider's address for a logout in the browser.
    func logoutURL(redirectURI: String?, state: String?) async throws -> String
    /// The events of the session. The stream ends with `locked` when the agent ends.
    func updates() -> AsyncStream<SessionUpdate>
    /// Leaves the session.
    ///
    /// - Parameter isLocking: whether the agent locks it, for all programs.
    func leave(locking isLocking: Bool) async
}
