internal import Foundation
internal import OpenIDConnect
internal import VaultBase
public import VaultStorage
internal import VaultUnlock

// Tokens of an app that signs people in by itself.
extension Auth {
    /// Takes an access token and a refresh token from elsewhere. For the open account they replace its own tokens at
    /// once. Otherwise they count as a login: pass the result to `storage.storeRefreshToken(_:withNewPassword:)`.
    ///
    /// - Parameters:
    ///   - access: the access token.
    ///   - refresh: the refresh token, issued to the configured client.
    ///   - expiresIn: the time for which the access token is valid from now on; nil if it is not known.
    ///   - subject: the owner of the tokens; nil to ask the provider's UserInfo endpoint, which also checks the access
    ///     token. An ``OAuthTokenEndpoint`` cannot be asked.
    /// - Throws: ``VaultError`` with code `configurationInvalid` if a token is empty, nothing is configured, or the URL
    ///   of the server is not https. `tokenInvalid` if the owner is not known (pass `subject`), or if the tokens belong
    ///   to another person than the open account. `identityProviderUnavailable`, `identityProviderTimedOut`,
    ///   `identityProviderInterrupted`, `identityProviderAnswerInvalid` of UserInfo: try again later. `busy`: try again.
    ///   `storeUnreadable`: free disk space. `storeCorrupt`: restore a backup. Then nothing was changed.
    @discardableResult
    public func setTokens(
        access: String, refresh: String, expiresIn: Duration?, subject: String?
    ) async throws -> SignInResult {
        guard !access.isEmpty, !refresh.isEmpty else {
            throw VaultError(
                .configurationInvalid, "A token is missing. Pass both the access token and the refresh token.")
        }
        guard let settings, !settings.issuer.isEmpty, let clientID = settings.clientID, !clientID.isEmpty else {
            throw VaultError(
                .configurationInvalid, "The issuer or the client id is missing. Configure those that issued the tokens."
            )
        }
        guard EndpointURL.isAllowed(settings.issuer) else {
            throw VaultError(
                .configurationInvalid,
                "The tokens cannot be renewed at the configured issuer, because its URL is not https. Configure an https URL. Plain http works only on this machine."
            )
        }
        let now = accounts.clock.now
        let accessToken = AccessToken(
            value: access, tokenType: "Bearer", expiresAt: expiresIn.map { now + Double($0.components.seconds) },
            scope: nil, obtainedAt: now)
        let info = try await VaultError.converting { () -> UserInfo? in
            guard subject == nil, !settings.isTokenEndpoint else { return nil }
            return try await opener.providers.provider(issuer: settings.issuer, clientID: clientID)
                .userinfo(accessToken: access, subject: nil)
        }
        guard let subject = subject ?? info?.subject else {
            throw VaultError(
                .tokenInvalid, "The server does not tell the owner of the token. Pass the subject.")
        }
        let token = SignInResult(
            Credential(value: refresh), account: AccountID(issuer: settings.issuer, subject: subject),
            method: settings.isTokenEndpoint ? .tokenEndpoint : .openIDConnect, clientID: clientID,
            identity: .init(
                email: info?.email, preferredUsername: info?.preferredUsername, name: info?.name,
                claimsJSON: info?.claimsJSON ?? Array("{}".utf8)),
            accessToken: accessToken)
        if let session {
            guard session.id == token.account else {
                throw VaultError(
                    .tokenInvalid,
                    "The tokens belong to another person than the open account. Log out first, or pass this person's tokens."
                )
            }
            guard session.source?.key == IssuerKey(token) else {
                throw VaultError(
                    .configurationInvalid,
                    "The open account uses another client or another way to sign in, which cannot renew these tokens. Log out first."
                )
            }
            try await VaultError.converting { try await session.setTokens(token, accessToken) }
        } else {
            try await current.open(token)
        }
        return token
    }

    /// Forgets both tokens of the account that is logged in or was locked last, also the stored ones. Ends the session.
    /// The account, its password and an app's items stay. Nothing is revoked.
    public func clearTokens() async throws {
        guard let id = await current.forget() else { return }
        try await forgetTokens(of: id)
    }

    /// Removes an account's stored tokens. Its unlock methods and an app's items stay. Nothing is revoked.
    package func forgetTokens(of id: AccountID) async throws {
        let changes: [StoreChange] = [
            .removeItem(.refreshToken), .removeItem(.accessToken), .removeItem(.idToken), .endRefresh,
        ]
        try await VaultError.converting {
            try await accounts.withLock(on: id) { [store = accounts.store] _ in
                try await store.apply(changes, to: id)
            }
        }
    }
}
