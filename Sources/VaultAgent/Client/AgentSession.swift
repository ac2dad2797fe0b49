package import Foundation
package import OpenIDConnect
internal import VaultAgentProtocol
package import VaultAuth
internal import VaultBase
package import VaultCrypto
package import VaultStorage
package import VaultUnlock

/// The backend of a session that the agent holds, with its tokens and its vault key.
package final class AgentSession: StoredSession {
    package let account: UnlockedAccount
    private let holder: AgentKeyHolder
    private let watch: AgentWatch
    /// The agent's proof that it got a secret from this program; nil if it got none.
    private let ticket = Lock<[UInt8]?>(nil)

    init(_ account: UnlockedAccount, _ holder: AgentKeyHolder, _ watch: AgentWatch) {
        self.account = account
        self.holder = holder
        self.watch = watch
    }

    private var client: AgentClient { holder.client }

    // MARK: - Tokens

    package func accessToken(
        isForced: Bool, minimumValidity: Duration, rejected: String?, requestedAt: Date
    ) async throws -> (token: AccessToken, isNew: Bool) {
        let wish = AgentTokenWish(
            isForced: isForced, minimumSeconds: UInt32(clamping: minimumValidity.components.seconds),
            rejected: rejected, at: requestedAt.timeIntervalSince1970)
        guard case .token(let answer) = try await client.ask(.token(AgentAccount(id), wish)) else {
            throw AgentClient.unexpected
        }
        let token = AccessToken(answer)
        if answer.isNew { account.claimKeys(with: token) }
        return (token, answer.isNew)
    }

    package func refreshToken() async throws -> SignInResult {
        _ = try account.vaultKey()
        throw Self.keepsRefreshToken
    }

    package func setTokens(_ tokens: SignInResult) async throws { throw Self.keepsRefreshToken }

    package func proofKey() async throws -> DPoPKey? {
        let key = try await holder.data(.proofKey(AgentAccount(id)))
        return key.isEmpty ? nil : try DPoPKey(rawRepresentation: key)
    }

    package func logOutEverywhere() async throws -> VaultError? {
        // When this session is over, the agent may still hold the account open for other programs.
        _ = try account.vaultKey()
        // The agent has the refresh token. After an error it still holds the session, for all programs.
        guard case .loggedOut(let failure) = try await client.ask(.logOutEverywhere(AgentAccount(id))) else {
            throw AgentClient.unexpected
        }
        return failure.map(VaultError.init)
    }

    package func providerLogoutURL(redirectURI: String?, state: String?) async throws -> String {
        // The provider wants the ID token as a hint, and the agent keeps it.
        let request = AgentRequest.logoutURL(AgentAccount(id), redirectURI: redirectURI, state: state)
        guard case .text(let address) = try await client.ask(request) else { throw AgentClient.unexpected }
        return address
    }

    private static let keepsRefreshToken = VaultError(
        .configurationInvalid,
        "The agent holds this session and keeps its refresh token. Log in without the agent, then try again.")

    // MARK: - Unlock methods

    package func reauthenticate(with method: UnlockMethod) async throws {
        try await account.converting {
            let method = try await method.askingForPIN(of: account.accounts.account(id))
            guard let secret = method.typedSecret else {
                throw VaultError(
                    .configurationInvalid,
                    "The agent takes only a password, PIN or recovery code. Log in without the agent, then try again.")
            }
            let new = try await holder.data(
                .check(AgentAccount(id), kind: method.kind.rawValue, secret.bytes.withUnsafeBytes { Array($0) }))
            // A session that was locked meanwhile must not keep the ticket.
            ticket.withLock { if account.session?.isOpen ?? false { $0 = new } }
        }
    }

    package func setPIN(_ pin: borrowing SecretBytes, skipsPINRule: Bool) async throws {
        try await account.converting {
            // The agent only checks the policy, because it does not know whether this app skips the rule.
            try await account.accounts.requireNewPIN(
                pin, of: account.accounts.account(id).names, skipsPINRule: skipsPINRule)
            _ = try account.vaultKey()
            let ticket = ticket.withLock { $0 } ?? []
            _ = try await client.ask(.setPIN(AgentAccount(id), pin.withUnsafeBytes { Array($0) }, ticket: ticket))
        }
    }

    /// The agent asks for its own secret.
    package func vaultKeyForNewKeyslot() async throws -> VaultKey { try account.vaultKey() }

    package func replaceVaultKey(keeping method: UnlockMethod) async throws -> VaultKeyReplacement {
        throw Self.keepsVaultKey
    }

    package func replacingVaultKey(
        _ body: (_ old: VaultKey) async throws -> ReplacedVaultKey
    ) async throws -> VaultKeyReplacement { throw Self.keepsVaultKey }

    private static let keepsVaultKey = VaultError(
        .configurationInvalid,
        "The agent keeps the vault key of this session. Log in without the agent to replace the vault key.")

    // MARK: - The end

    package func end() {
        account.end()
        ticket.withLock { $0 = nil }
        watch.end()
    }

    package func lockForAll() async {
        // Even if the task that locks was cancelled.
        let (client, account) = (client, AgentAccount(id))
        await Task.detached { _ = try? await client.ask(.lock(account, isFinal: false), timeout: 10) }.value
    }
}
