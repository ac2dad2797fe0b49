internal import OpenIDConnect
internal import VaultBase
public import VaultStorage
internal import VaultUnlock

// The refresh token, and the key that the tokens are bound to.
extension Session {
    /// Returns the refresh token as it is stored now.
    ///
    /// - Throws: ``VaultError`` with code `notLoggedIn`, also if none is stored (log in again), or `storeCorrupt`
    ///   (register again).
    public func refreshToken() async throws -> RefreshToken {
        _ = try acceptedVaultKey()
        return try await storedRefreshToken()
    }

    /// As ``refreshToken()``, even if the provider refused the token.
    func storedRefreshToken() async throws -> RefreshToken {
        let vaultKey = try openVaultKey()
        if agent != nil { throw Self.keptByAgent }
        do {
            return try await accounts.refreshToken(of: id, vaultKey: vaultKey)
        } catch {
            throw await ended(by: error, using: vaultKey)
        }
    }

    private static let keptByAgent = VaultError(
        .configurationInvalid,
        "The agent holds this session and keeps its refresh token. Log in without the agent, then try again.")

    /// Returns the vault key of a session that the provider did not refuse.
    func acceptedVaultKey() throws -> VaultKey {
        if let refusal { throw refusal }
        return try openVaultKey()
    }

    /// Returns the key that the tokens are bound to (RFC 9449); nil if they are not bound.
    func dpopKey() async throws -> DPoPKey? {
        if let proofKey, vaultKey != nil { return proofKey }
        let key: DPoPKey?
        if let agent { key = try await agent.proofKey() } else { key = try await refreshToken().credential.dpopKey() }
        // A session that was locked meanwhile must not keep the key.
        if vaultKey != nil { proofKey = key }
        return key
    }

    /// Replaces the stored credential and access token by an app's own: both, or neither.
    func replace(_ credential: Credential, _ accessToken: AccessToken) async throws {
        let vaultKey = try openVaultKey()
        if agent != nil { throw Self.keptByAgent }
        let items = TokenItems(store: accounts.store, id: id, vaultKey: vaultKey)
        let changes = [
            try await items.put(credential), try await items.put(accessToken),
            .noteTokens(scope: accessToken.scope, accessTokenExpiresAt: accessToken.expiresAt), .endRefresh,
        ]
        try await withLock { [accounts, id, source] in
            // A person who logged out meanwhile does not want the tokens stored.
            guard isOpen else { throw VaultError(.notLoggedIn, "The session was locked meanwhile. Log in again.") }
            guard let account = try await accounts.store.account(id) else {
                throw VaultError(
                    .accountNotFound, "The account was deleted meanwhile. Register it again.")
            }
            // If another program registered the account again, its vault key would not open these bytes.
            try await accounts.requireCurrent(vaultKey, of: account, as: account)
            guard source.isOf(account) else {
                throw VaultError(
                    .notLoggedIn,
                    "\(account.displayName) now uses another client or another way to sign in. Log in again.")
            }
            try await accounts.store.apply(changes, to: id, sealedUnder: vaultKey)
        }
        proofKey = nil
        guard self.vaultKey != nil else { return }
        let wasRefused = live.withLock { $0.accept(accessToken) }
        updates.send(.init(wasRefused ? .loggedIn : .refreshed, id))
    }

    func withLock(_ body: @Sendable () async throws -> Void) async throws {
        do { try await accounts.withLock(on: id) { _ in try await body() } } catch { throw await ended(by: error) }
    }

    /// Whether this process holds a renewed token that could not be stored. Free disk space, then call
    /// ``accessToken(forceRefresh:minimumValidity:)``, which stores the token first.
    public var holdsUnstoredToken: Bool { accounts.unstored.holds(id) }
}
