public import VaultStorage
internal import VaultUnlock

// A login between the sign-in and its storage.
extension Auth {
    /// Returns a valid access token of a login that is not stored yet, and renews it if necessary. The newest refresh
    /// token is the one that is stored later. If the login was stored meanwhile, returns the token of the open account.
    ///
    /// - Parameters:
    ///   - login: the result of ``signIn(_:)``.
    ///   - forceRefresh: whether to ask the provider even if the present token is valid.
    ///   - minimumValidity: the least time for which the token must be valid. 60 seconds by default.
    /// - Throws: ``VaultError`` with code `refreshTokenExpired` (sign in again), `notLoggedIn` if it was stored and the
    ///   account is not open (log in), `busy` while it is being stored (try again), `identityProviderUnavailable`,
    ///   `identityProviderTimedOut`, `identityProviderInterrupted` or `identityProviderAnswerInvalid` (try again
    ///   later).
    public func accessToken(
        of login: SignInResult, forceRefresh: Bool, minimumValidity: Duration
    ) async throws -> AccessToken {
        if await unstoredLogins.newest(login) == nil, let session, session.id == login.account {
            return try await session.accessToken(forceRefresh: forceRefresh, minimumValidity: minimumValidity)
        }
        return try await accessToken(of: login, .init(force: forceRefresh, minimumValidity: minimumValidity))
    }

    func accessToken(of login: SignInResult, replacing refused: AccessToken) async throws -> AccessToken {
        if await unstoredLogins.newest(login) == nil, let session, session.id == login.account {
            return try await session.accessToken(replacing: refused)
        }
        return try await accessToken(of: login, .init(rejected: refused.value))
    }

    private func accessToken(
        of login: SignInResult, _ request: UnstoredLogins.Request
    ) async throws -> AccessToken {
        do {
            return try await unstoredLogins.accessToken(
                of: login, request, from: issuers.issuer(issuers.source(of: login)))
        } catch {
            throw VaultError.converting(error)
        }
    }

    /// Returns the access token that a registration needs to claim its new key at the key service; nil if the token of
    /// the sign-in will do.
    ///
    /// - Throws: ``VaultError`` with code `configurationInvalid` if the provider makes no token for one service, and the
    ///   codes of ``accessToken(of:forceRefresh:minimumValidity:)``.
    func keyServiceToken(of login: SignInResult) async throws -> AccessToken? {
        guard let audience = try await accounts.audienceForRegistration() else { return nil }
        return try await accessToken(of: login, for: audience)
    }

    /// Returns a new access token of a login for one service alone.
    ///
    /// - Throws: as ``keyServiceToken(of:)``.
    func accessToken(of login: SignInResult, for audience: String) async throws -> AccessToken {
        let issuer = try issuers.issuer(issuers.source(of: login))
        guard let issuer = issuer as? any AudienceIssuer else {
            throw Accounts.notRestricted(login.account.subject, audience, nil)
        }
        do {
            let token = try await unstoredLogins.accessToken(of: login, for: audience, from: issuer)
            try accounts.requireFit(token, audience, of: login)
            return token
        } catch {
            throw IssuedOwnerTokens.explained(error, login.account.subject, audience)
        }
    }

    /// Stores a login and opens its account.
    ///
    /// - Parameters:
    ///   - hasSecret: whether a person has just given a secret of the account in this program.
    ///   - store: stores the newest form of the login.
    package func open(
        _ login: SignInResult, hasSecret: Bool = true, storing store: (SignInResult) async throws -> VaultKey
    ) async throws -> Session {
        let opening = current.beginOpening()
        defer { current.end(opening) }
        let newest = try await unstoredLogins.beginStoring(login)
        let vaultKey: VaultKey
        do {
            vaultKey = try await store(newest)
        } catch {
            await unstoredLogins.endStoring(login, isStored: false)
            throw error
        }
        await unstoredLogins.endStoring(login, isStored: true)
        return try await open(newest, vaultKey: vaultKey, hasSecret: hasSecret, since: opening)
    }
}
