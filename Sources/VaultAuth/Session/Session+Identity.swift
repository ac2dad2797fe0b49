public import VaultStorage

// Information about an open account. It can be read without the network, and after the provider refused the account.
extension Session {
    /// Returns the person's identity from the last ID token or the backend.
    ///
    /// - Throws: ``VaultError`` with code `notLoggedIn` if the session was locked (log in again), `storeUnreadable`
    ///   (try again), or `storeCorrupt` (restore a backup).
    public func identity() async throws -> SignInResult.Identity {
        try requireOpen()
        return try await backend.identity()
    }

    /// Returns the granted scopes and the end of the access token, as far as these are known.
    ///
    /// - Throws: ``VaultError`` with code `notLoggedIn` if the session was locked (log in again), `accountNotFound`
    ///   (register), or `storeUnreadable` (try again).
    public func grant() async throws -> Grant {
        try requireOpen()
        return try await backend.grant()
    }

    /// As ``AuthProtocol/providerLogoutURL(redirectURI:state:)``, for this session.
    package func providerLogoutURL(redirectURI: String?, state: String?) async throws -> String {
        try requireOpen()
        return try await backend.providerLogoutURL(redirectURI: redirectURI, state: state)
    }
}
