internal import Foundation
internal import OpenIDConnect
internal import VaultHTTP
public import VaultStorage

// Tokens of an app whose login happens elsewhere.
extension Auth {
    /// Takes tokens that were got elsewhere, both or neither. For the open account they are stored at once, in place of
    /// its own. Otherwise they count as a login: pass the result to `storage.storeRefreshToken(_:withNewPassword:)`.
    ///
    /// - Parameters:
    ///   - access: the access token.
    ///   - refresh: the refresh token, issued to the configured client.
    ///   - expiresIn: how long the access token is valid from now on; nil when that is not known.
    ///   - subject: whose they are; nil to ask the provider's UserInfo endpoint, which also proves the access token.
    /// - Throws: ``VaultError``: `configurationInvalid` when one of them is empty or nothing is configured,
    ///   `tokenInvalid` when they are another person's than the open account's, `identityProviderUnavailable`,
    ///   `identityProviderTimedOut`, `identityProviderInterrupted` and `identityProviderAnswerInvalid` of UserInfo,
    ///   `storeUnreadable`, `storeCorrupt`, `busy`. Then nothing was changed.
    @discardableResult
    public func setTokens(
        access: String, refresh: String, expiresIn: Duration?, subject: String?
    ) async throws -> RefreshToken {
        guard !access.isEmpty, !refresh.isEmpty else {
            throw VaultError(.configurationInvalid, "Both tokens are needed: the access token and the refresh token.")
        }
        guard let settings, !settings.issuer.isEmpty, let clientID = settings.clientID, !clientID.isEmpty else {
            throw VaultError(
                .configurationInvalid, "The issuer and the client id that the tokens belong to are needed.")
        }
        let now = accounts.clock.now
        let accessToken = AccessToken(
            value: access, tokenType: "Bearer", expiresAt: expiresIn.map { now + Double($0.components.seconds) },
            scope: nil, obtainedAt: now)
        let info = try await converting { () -> UserInfo? in
            guard subject == nil else { return nil }
            return try await providers.provider(issuer: settings.issuer, clientID: clientID)
                .userinfo(accessToken: access, subject: nil)
        }
        guard let subject = subject ?? info?.subject else {
            throw VaultError(.tokenInvalid, "The identity provider does not say whose token it is.")
        }
        let token = RefreshToken(
            Credential(value: refresh), account: AccountID(issuer: settings.issuer, subject: subject),
            clientID: clientID,
            identity: .init(
                email: info?.email, preferredUsername: info?.preferredUsername, name: info?.name,
                claimsJSON: info?.claimsJSON ?? Array("{}".utf8)),
            accessToken: accessToken)
        if let session {
            guard session.id == token.account else {
                throw VaultError(.tokenInvalid, "The tokens are another person's than the open account.")
            }
            guard session.source.key == IssuerKey(token) else {
                throw VaultError(
                    .configurationInvalid,
                    "The open account signs in in another way or with another client, which could not renew these tokens."
                )
            }
            try await converting { try await session.replace(token.credential, accessToken) }
        } else {
            try await current.open(token)
        }
        return token
    }

    /// Forgets both tokens of the account that is logged in, or that was locked last, also the stored ones. It ends the
    /// session. The account, its password and an app's items stay; nothing is revoked.
    public func clearTokens() async throws {
        guard let id = await current.forget() else { return }
        let changes: [StoreChange] = [
            .removeItem(.refreshToken), .removeItem(.accessToken), .removeItem(.idToken), .endRefresh,
        ]
        try await converting {
            try await accounts.withLock(on: id) { [store = accounts.store] _ in
                try await store.apply(changes, to: id)
            }
        }
    }
}
