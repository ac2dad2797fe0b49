public import Foundation
public import OpenIDConnect
public import VaultBackground
public import VaultCrypto
public import VaultHTTP
public import VaultStorage
public import VaultUnlock

// An app's mock needs only ``AuthProtocol/session`` and ``AuthProtocol/login(_:with:)``. The calls for the person who
// is logged in go to that session. Calls that a mock does not have throw `configurationInvalid`. ``Auth`` has all of
// them.
extension AuthProtocol {
    /// Throws `configurationInvalid`.
    public func signIn(_ method: any SignIn) async throws -> SignInResult { throw VaultError.unsupported() }
    /// Returns false.
    public func offersDeviceSignIn() async throws -> Bool { false }
    /// Returns false: no login waits. Not `async`, as that of ``Auth``: otherwise this one would be preferred to it.
    public func handleRedirect(url: URL) -> Bool { false }
    /// Throws `configurationInvalid`.
    public func setTokens(
        access: String, refresh: String, expiresIn: Duration?, subject: String?
    ) async throws -> SignInResult { throw VaultError.unsupported() }
    /// Throws `configurationInvalid`.
    public func clearTokens() async throws { throw VaultError.unsupported() }
    /// Throws `configurationInvalid`.
    public func switchMethod(
        of id: AccountID, password: borrowing SecretBytes, to method: any SignIn
    ) async throws -> VaultError? { throw VaultError.unsupported() }
    /// Throws `configurationInvalid`.
    public func switchMethod(
        userID: String, password: borrowing SecretBytes, to method: any SignIn
    ) async throws -> VaultError? { throw VaultError.unsupported() }

    /// Throws `configurationInvalid`.
    public func login(userID: String, with method: UnlockMethod) async throws -> Session {
        throw VaultError.unsupported()
    }
    /// Throws `configurationInvalid`.
    public func unlock(_ account: AccountID, with method: UnlockMethod) async throws -> Session {
        throw VaultError.unsupported()
    }
    /// Throws `configurationInvalid`.
    public func unlock(userID: String, with method: UnlockMethod) async throws -> Session {
        throw VaultError.unsupported()
    }
    /// Throws `configurationInvalid`.
    public func attach(_ account: AccountID) async throws -> Session { throw VaultError.unsupported() }
    /// Throws `configurationInvalid`.
    public func attach(userID: String) async throws -> Session { throw VaultError.unsupported() }
    /// Throws `configurationInvalid`.
    public func restoreSession(userID: String) async throws -> RestoredSession { throw VaultError.unsupported() }
    /// Throws `configurationInvalid`.
    public func restoreSession(userID: String, password: borrowing SecretBytes) async throws -> RestoredSession {
        throw VaultError.unsupported()
    }

    /// A guard that never waits.
    public var stopGuard: StopGuard { StopGuard() }
    /// Whether there is a session, and it is open.
    public var isLoggedIn: Bool { session?.isOpen ?? false }
    /// Returns a stream that ends at once.
    public func sessionUpdates(replaying isReplaying: Bool) -> AsyncStream<SessionUpdate> {
        AsyncStream { $0.finish() }
    }
    /// The refresh token of the session.
    public var refreshToken: SignInResult { get async throws { try await loggedIn().refreshToken() } }
    /// Returns an access token of the session.
    public func accessToken(forceRefresh: Bool, minimumValidity: Duration) async throws -> AccessToken {
        try await loggedIn().accessToken(forceRefresh: forceRefresh, minimumValidity: minimumValidity)
    }
    /// Throws `configurationInvalid`.
    public func accessToken(
        of login: SignInResult, forceRefresh: Bool, minimumValidity: Duration
    ) async throws -> AccessToken { throw VaultError.unsupported() }
    /// Returns another access token of the session.
    public func accessToken(replacing refused: AccessToken) async throws -> AccessToken {
        try await loggedIn().accessToken(replacing: refused)
    }
    /// Returns a transport of the session that is open now.
    public func authorizedTransport(
        for origins: [String], as login: SignInResult?, leeway: Duration, over base: (any HTTPTransport)?
    ) throws -> any HTTPTransport { try loggedIn().authorizedTransport(for: origins, leeway: leeway, over: base) }
    /// Throws `configurationInvalid`.
    public func proof(method: String, url: String, accessToken: AccessToken, nonce: String?) async throws -> String {
        throw VaultError.unsupported()
    }
    /// Throws `configurationInvalid`.
    public func userInfo() async throws -> UserInfo { throw VaultError.unsupported() }
    /// Throws `configurationInvalid`.
    public func providerLogoutURL(redirectURI: String?, state: String?) async throws -> String {
        throw VaultError.unsupported()
    }

    /// Locks the session.
    public func lock(_ reason: SessionUpdate.Reason) async { await session?.lock(.locked, reason: reason) }
    /// Locks the session. Returns nil.
    public func logout() async throws -> VaultError? {
        await session?.lock(.loggedOut, reason: .requested)
        return nil
    }
    /// Throws `configurationInvalid`.
    public func logoutEverywhere() async throws -> VaultError? { throw VaultError.unsupported() }
    /// Throws `configurationInvalid`.
    public func deleteAccount() async throws -> VaultError? { throw VaultError.unsupported() }
    /// Returns `configurationInvalid`.
    public func revoke(_ token: SignInResult) async -> VaultError? { VaultError.unsupported() }
    /// Throws `configurationInvalid`.
    public func removeAccessToken(of id: AccountID) async throws { throw VaultError.unsupported() }

    /// Does nothing.
    public func enableBackgroundTimeout(
        duration: Duration, monitors: [any BackgroundMonitor], clock: any Clock<Duration>,
        handler: @escaping @Sendable () async -> Void
    ) async {}
    /// Returns no monitors.
    public func monitorStatus() async -> [MonitorStatus] { [] }
    /// Does nothing.
    public func disableBackgroundTimeout() async {}
    /// Does nothing.
    public func enableIdleTimeout(
        _ duration: Duration, clock: any Clock<Duration>, handler: @escaping @Sendable () async -> Void
    ) async {}
    /// Does nothing.
    public func noteActivity() {}
    /// Does nothing.
    public func disableIdleTimeout() async {}

    private func loggedIn() throws -> Session {
        guard let session else { throw VaultError(.notLoggedIn, "Nobody is logged in. Log in first.") }
        return session
    }
}
