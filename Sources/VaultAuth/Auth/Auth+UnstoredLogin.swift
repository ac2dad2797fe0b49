public import VaultStorage

// A login between signing in and storing it.
extension Auth {
    /// A valid access token of a login that is not stored yet. It is renewed when that is needed; what is stored later is
    /// the newest refresh token. When the login was stored meanwhile, the open account's token is meant.
    ///
    /// - Parameters:
    ///   - login: what ``signIn(_:)`` returned.
    ///   - forceRefresh: ask the provider also when the token at hand is still valid.
    ///   - minimumValidity: how long the token has to be valid at least. 60 seconds.
    /// - Throws: ``VaultError``: `refreshTokenExpired` (sign in again), `notLoggedIn` when it was stored and the account
    ///   is not open, `busy` while it is being stored, `identityProviderUnavailable` (try again later).
    public func accessToken(
        of login: RefreshToken, forceRefresh: Bool, minimumValidity: Duration
    ) async throws -> AccessToken {
        if await unstoredLogins.newest(login) == nil, let session, session.id == login.account {
            return try await session.accessToken(forceRefresh: forceRefresh, minimumValidity: minimumValidity)
        }
        return try await accessToken(of: login, .init(force: forceRefresh, minimumValidity: minimumValidity))
    }

    func accessToken(of login: RefreshToken, replacing refused: AccessToken) async throws -> AccessToken {
        if await unstoredLogins.newest(login) == nil, let session, session.id == login.account {
            return try await session.accessToken(replacing: refused)
        }
        return try await accessToken(of: login, .init(rejected: refused.value))
    }

    private func accessToken(
        of login: RefreshToken, _ request: UnstoredLogins.Request
    ) async throws -> AccessToken {
        do {
            return try await unstoredLogins.accessToken(
                of: login, request, from: issuers.issuer(issuers.source(of: login)))
        } catch {
            throw VaultError.converting(error)
        }
    }

    /// Stores a login and opens its account.
    ///
    /// - Parameter store: stores it, in the form that it is given.
    package func open(
        _ login: RefreshToken, storing store: (RefreshToken) async throws -> VaultKey
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
        return try await open(newest, vaultKey: vaultKey, since: opening)
    }
}
