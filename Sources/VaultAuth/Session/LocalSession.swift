package import Foundation
package import OpenIDConnect
internal import VaultBase
package import VaultStorage
internal import VaultUnlock

/// The backend of a session whose vault key and tokens are in this process.
package final class LocalSession: StoredSession {
    package let account: UnlockedAccount
    let opener: SessionOpener
    let issuer: any TokenIssuer
    let source: IssuerSource
    /// The times of the last secret and of the last proof that this device was not revoked.
    let proofs: Lock<SessionProofs>

    /// - Parameter hasSecret: whether a person has just given a secret of the account in this program.
    init(
        _ account: UnlockedAccount, opener: SessionOpener, issuer: any TokenIssuer, source: IssuerSource,
        hasSecret: Bool
    ) {
        self.account = account
        self.opener = opener
        self.issuer = issuer
        self.source = source
        proofs = Lock(SessionProofs(at: account.accounts.steady.now(), hasSecret: hasSecret))
    }

    var accounts: Accounts { account.accounts }

    package func end() { account.end() }

    // MARK: - Tokens

    package func accessToken(
        isForced: Bool, minimumValidity: Duration, rejected: String?, requestedAt: Date
    ) async throws -> (token: AccessToken, isNew: Bool) {
        guard let vaultKey = account.presentKey else {
            throw VaultError(.notLoggedIn, "The session is locked. Log in again.")
        }
        let transaction = RefreshTransaction(
            id: id, vaultKey: vaultKey, store: accounts.store, unstored: accounts.unstored, issuer: issuer,
            source: source, isWanted: { [weak account] in account?.session?.isOpen ?? false }, clock: accounts.clock,
            logger: accounts.logger, changesToShow: { [accounts] in accounts.changesToShow($0) })
        do {
            try await requireNotRevoked()
            let renewed = try await transaction.run(
                .init(force: isForced, minimumValidity: minimumValidity, rejected: rejected, at: requestedAt))
            try await requireRecentProof()
            if renewed.isNew { account.claimKeys(with: renewed.token) }
            return renewed
        } catch {
            guard let error = VaultError.converting(error) as? VaultError else { throw error }
            if error.isOfReplacedVaultKey { throw await account.explained(error) }
            // Another program logged out everywhere.
            if error.code == .notLoggedIn { await account.session?.end(.loggedOut, .everywhere, because: error) }
            throw error
        }
    }

    /// Returns a new access token for one service (RFC 8707), for another program.
    package func accessToken(forAudience audience: String) async throws -> AccessToken {
        guard let tokens = accounts.ownerTokens else { throw VaultError.unsupported() }
        if let refusal = account.session?.refusal { throw refusal }
        do {
            try await requireNotRevoked()
            return try await tokens.accessToken(of: id, for: audience, vaultKey: account.vaultKey())
        } catch {
            throw await account.explained(error)
        }
    }

    package func refreshToken() async throws -> SignInResult {
        let vaultKey = try account.vaultKey()
        do {
            return try await accounts.refreshToken(of: id, vaultKey: vaultKey)
        } catch {
            throw await account.explained(error, using: vaultKey)
        }
    }

    package func proofKey() async throws -> DPoPKey? {
        if let refusal = account.session?.refusal { throw refusal }
        return try await refreshToken().credential.dpopKey()
    }

    package func setTokens(_ tokens: SignInResult) async throws {
        let vaultKey = try account.vaultKey()
        let items = TokenItems(store: accounts.store, id: id, vaultKey: vaultKey)
        var changes = [try await items.put(tokens.credential)]
        if let accessToken = tokens.accessToken {
            changes += [
                try await items.put(accessToken),
                .noteTokens(
                    scope: accessToken.scope, type: accessToken.tokenType,
                    accessTokenExpiresAt: accessToken.expiresAt),
            ]
        }
        let all = changes + [.endRefresh]
        do {
            try await accounts.withLock(on: id) { [account, accounts, id, source] _ in
                // A person who logged out meanwhile does not want the tokens stored.
                guard account.session?.isOpen ?? false else {
                    throw VaultError(.notLoggedIn, "The session was locked meanwhile. Log in again.")
                }
                guard let stored = try await accounts.store.account(id) else {
                    throw VaultError(
                        .accountNotFound, "The account was deleted meanwhile. Register it again.")
                }
                // If another program registered the account again, its vault key would not open these bytes.
                try await accounts.requireCurrent(vaultKey, of: stored, as: stored)
                guard source.isOf(stored) else {
                    throw VaultError(
                        .notLoggedIn,
                        "\(stored.displayName) now uses another client or another way to sign in. Log in again.")
                }
                try await accounts.store.apply(all, to: id, sealedUnder: vaultKey)
            }
        } catch {
            throw await account.explained(error)
        }
    }

    package func logOutEverywhere() async throws -> VaultError? {
        let failure: VaultError?
        do {
            failure = try await opener.revoke(self, of: account.session) { [store = accounts.store, id] in
                try await store.apply(
                    [.removeItem(.refreshToken), .removeItem(.accessToken), .removeItem(.idToken), .endRefresh],
                    to: id)
                return {}
            }
        } catch {
            // On this machine nothing stays open, even after an error.
            await account.session?.lock(.loggedOut, reason: .requested)
            _ = try? await opener.takeAccessToken(of: id)
            throw error
        }
        // Before the access token is removed: a renewal that is under way would store another one.
        await account.session?.lock(.loggedOut, reason: .everywhere)
        if failure != nil { try await opener.takeAccessToken(of: id) }
        return failure
    }

    package func providerLogoutURL(redirectURI: String?, state: String?) async throws -> String {
        // Before the token is read: other servers have no such address.
        let provider = try issuer.openIDProvider
        let hint = try await refreshToken().idToken
        do {
            return try await provider.logoutURL(
                idTokenHint: hint, postLogoutRedirectURI: redirectURI, state: state)
        } catch {
            throw VaultError.converting(error)
        }
    }
}
