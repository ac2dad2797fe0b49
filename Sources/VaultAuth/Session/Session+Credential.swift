package import OpenIDConnect
internal import VaultBase
public import VaultStorage

// The refresh token, and the key that the tokens are bound to.
extension Session {
    /// Returns the refresh token as it is stored now.
    ///
    /// - Throws: ``VaultError`` with code `notLoggedIn`, also if none is stored (log in again), or `storeCorrupt`
    ///   (register again).
    public func refreshToken() async throws -> SignInResult {
        try requireAccepted()
        return try await backend.refreshToken()
    }

    /// Throws the reason why the session gives out no tokens, if there is one.
    func requireAccepted() throws {
        if let refusal { throw refusal }
        try requireOpen()
    }

    /// Returns the key that the tokens are bound to (RFC 9449); nil if they are not bound.
    package func dpopKey() async throws -> DPoPKey? {
        if let proofKey, isOpen { return proofKey }
        let key = try await backend.proofKey()
        // A session that was locked meanwhile must not keep the key.
        if isOpen { proofKey = key }
        return key
    }

    /// Replaces the stored refresh token and access token by an app's own: both, or neither.
    func setTokens(_ tokens: SignInResult, _ accessToken: AccessToken) async throws {
        try requireOpen()
        try await backend.setTokens(tokens)
        proofKey = nil
        guard isOpen else { return }
        let wasRefused = live.withLock { $0.accept(accessToken) }
        updates.send(.init(wasRefused ? .loggedIn : .refreshed, id))
    }

    /// Whether this process holds a renewed token that could not be stored. Free disk space, then call
    /// ``accessToken(forceRefresh:minimumValidity:)``, which stores the token first.
    public var holdsUnstoredToken: Bool { backend.holdsUnstoredToken }
}
