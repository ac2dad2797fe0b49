public import Foundation
public import OpenIDConnect
public import VaultBackground
public import VaultBiometric
public import VaultCrypto
public import VaultHTTP
public import VaultStorage
public import VaultUnlock

/// Logs in and out, and has the tokens. An app calls these methods, and its tests replace them. ``Auth`` implements
/// this protocol.
///
/// A conformer must not assume that calls come one at a time, or that an account has not changed since the last call.
/// One person at a time is logged in. Every method that throws throws ``VaultError``.
public protocol AuthProtocol: Sendable {
    // MARK: Signing in at the provider

    /// Signs in. Nothing is stored yet: pass the result to
    /// ``StorageProtocol/storeRefreshToken(_:withNewPassword:alias:replacingItems:skipsNewPasswordRule:)``.
    @discardableResult
    func signIn(_ method: any SignIn) async throws -> SignInResult
    /// Whether the provider supports a sign-in on another device (RFC 8628): see ``DeviceSignIn``.
    func offersDeviceSignIn() async throws -> Bool
    /// Takes the URL that the provider redirected to. Returns false if no login waits for it.
    @discardableResult
    func handleRedirect(url: URL) async -> Bool
    /// Takes tokens from elsewhere. See ``Auth/setTokens(access:refresh:expiresIn:subject:)``.
    @discardableResult
    func setTokens(access: String, refresh: String, expiresIn: Duration?, subject: String?) async throws -> SignInResult
    /// Forgets both tokens of the account that is logged in, also the stored ones.
    func clearTokens() async throws
    /// Changes how an account signs in at its server. See ``Auth/switchMethod(of:password:to:)``.
    @discardableResult
    func switchMethod(
        of id: AccountID, password: borrowing SecretBytes, to method: any SignIn
    ) async throws -> VaultError?
    /// As ``switchMethod(of:password:to:)``, for an account by one of the names that ``login(userID:with:)`` takes.
    @discardableResult
    func switchMethod(
        userID: String, password: borrowing SecretBytes, to method: any SignIn
    ) async throws -> VaultError?

    // MARK: Opening accounts

    /// Logs in again: one call to the key service, and a new access token from the provider. If it throws, the earlier
    /// person stays logged in, unless the error has a ``VaultError/openedSession``. See ``Auth/login(_:with:)``.
    @discardableResult
    func login(_ account: AccountID, with method: UnlockMethod) async throws -> Session
    /// As ``login(_:with:)``, for an account by one of its names, as a person types it: the subject, an alias, the
    /// e-mail address or the preferred user name.
    @discardableResult
    func login(userID: String, with method: UnlockMethod) async throws -> Session
    /// Opens an account without a request to the provider.
    @discardableResult
    func unlock(_ account: AccountID, with method: UnlockMethod) async throws -> Session
    /// As ``unlock(_:with:)``, for an account by one of the names that ``login(userID:with:)`` takes.
    @discardableResult
    func unlock(userID: String, with method: UnlockMethod) async throws -> Session
    /// Opens an account that the agent holds open, without a secret. See ``Auth/attach(userID:)``.
    @discardableResult
    func attach(_ account: AccountID) async throws -> Session
    /// As ``attach(_:)``, for an account by one of the names that ``login(userID:with:)`` takes.
    @discardableResult
    func attach(userID: String) async throws -> Session
    /// Looks for a user's account, without a secret and without the network.
    func restoreSession(userID: String) async throws -> RestoredSession
    /// Opens an account, and asks the provider to confirm it.
    func restoreSession(userID: String, password: borrowing SecretBytes) async throws -> RestoredSession

    // MARK: While logged in

    /// Tells when the program may stop without losing a renewed token or a guess.
    var stopGuard: StopGuard { get }

    /// Whether somebody is logged in.
    var isLoggedIn: Bool { get }
    /// The open account, if there is one. After an error of a login, it may be the earlier person's.
    var session: Session? { get }
    /// Returns a new stream of session events.
    ///
    /// - Parameter isReplaying: whether the stream begins with `loggedIn` of the account that is logged in now, if
    ///   there is one.
    func sessionUpdates(replaying isReplaying: Bool) -> AsyncStream<SessionUpdate>
    /// The refresh token of the person who is logged in, with what the sign-in told of the person.
    var refreshToken: SignInResult { get async throws }
    /// Returns a token that is valid for another minute. Most calls are this one, so it is a separate requirement.
    func accessToken() async throws -> AccessToken
    /// Returns a valid access token. See ``Session/accessToken(forceRefresh:minimumValidity:)``.
    func accessToken(forceRefresh: Bool, minimumValidity: Duration) async throws -> AccessToken
    /// Returns a valid access token of a login that is not stored yet.
    func accessToken(of login: SignInResult, forceRefresh: Bool, minimumValidity: Duration) async throws -> AccessToken
    /// Returns another access token than the one that a server refused.
    func accessToken(replacing refused: AccessToken) async throws -> AccessToken
    /// Returns a transport for requests of whoever is logged in when each request begins. For one person's requests,
    /// use ``Session/authorizedTransport(for:leeway:over:)``. See ``Auth/authorizedTransport(for:as:leeway:over:)``.
    func authorizedTransport(
        for origins: [String], as login: SignInResult?, leeway: Duration, over base: (any HTTPTransport)?
    ) throws -> any HTTPTransport
    /// Makes a proof for one request with a bound token (RFC 9449 section 4).
    func proof(method: String, url: String, accessToken: AccessToken, nonce: String?) async throws -> String
    /// Returns the provider's present information about the person who is logged in.
    func userInfo() async throws -> UserInfo
    /// Returns the address that ends the person's session at the provider.
    func providerLogoutURL(redirectURI: String?, state: String?) async throws -> String

    // MARK: The end

    /// Locks the open account: keys and tokens are removed from memory, and nothing else changes.
    func lock(_ reason: SessionUpdate.Reason) async
    /// Logs out the person who is logged in at that moment: locks as ``lock(_:)``, and removes the cached access token
    /// from the disk. Returns the reason why the backend could not be told; nil if it was told, or if it does not
    /// want to be told. To log out only the person of a session: see ``Auth/logout()``.
    @discardableResult func logout() async throws -> VaultError?
    /// Logs out the person who is logged in at that moment, and asks the provider to revoke the refresh token. Returns
    /// nil if it did, otherwise the reason. To name the person: ``Session/logoutEverywhere()``.
    func logoutEverywhere() async throws -> VaultError?
    /// Deletes the account of the person who is logged in at that moment. Returns nil if the provider revoked the
    /// refresh token, otherwise the reason. To name the account: ``StorageProtocol/delete(_:revokingWith:)``.
    func deleteAccount() async throws -> VaultError?
    /// Asks the provider to revoke a refresh token. Returns nil if it did, otherwise the reason.
    func revoke(_ token: SignInResult) async -> VaultError?
    /// Removes an account's cached access token from the store.
    func removeAccessToken(of id: AccountID) async throws

    /// Locks the open account after the app was in the background for too long.
    func enableBackgroundTimeout(
        duration: Duration, monitors: [any BackgroundMonitor], clock: any Clock<Duration>,
        handler: @escaping @Sendable () async -> Void
    ) async
    /// Returns the monitors of the timeouts, and why a monitor does not work.
    func monitorStatus() async -> [MonitorStatus]
    /// Ends the background timeout.
    func disableBackgroundTimeout() async
    /// Locks the open account after a time without activity.
    func enableIdleTimeout(
        _ duration: Duration, clock: any Clock<Duration>, handler: @escaping @Sendable () async -> Void
    ) async
    /// Starts the time of the idle timeout again. Call it when the person does something.
    func noteActivity()
    /// Ends the idle timeout.
    func disableIdleTimeout() async
}

// The same methods with default values.
extension AuthProtocol {
    /// Signs in at the identity provider, in a browser: ``signIn(_:)`` with ``BrowserSignIn``.
    ///
    /// - Parameters:
    ///   - userAgent: shows the login to the person.
    ///   - parameters: the parameters of this sign-in, in addition to the configuration.
    @discardableResult
    public func performOpenIDConnectLogin(
        using userAgent: any UserAgent, parameters: SignInParameters = SignInParameters()
    ) async throws -> SignInResult {
        try await signIn(BrowserSignIn(using: userAgent, parameters: parameters))
    }

    /// As ``setTokens(access:refresh:expiresIn:subject:)``. The provider tells the owner of the tokens.
    @discardableResult
    public func setTokens(access: String, refresh: String, expiresIn: Duration? = nil) async throws -> SignInResult {
        try await setTokens(access: access, refresh: refresh, expiresIn: expiresIn, subject: nil)
    }

    /// Logs in again with the password.
    ///
    /// - Parameters:
    ///   - userID: the subject, an alias, the e-mail address or the preferred user name.
    ///   - password: as typed, UTF-8. A wrong password costs one of the few guesses at the key service.
    /// - Throws: ``VaultError``: as ``Auth/login(_:with:)``.
    @discardableResult
    public func login(userID: String, password: borrowing SecretBytes) async throws -> Session {
        try await login(userID: userID, with: .password(password))
    }

    /// Opens an account with the password, without a request to the provider.
    @discardableResult
    public func unlock(userID: String, password: borrowing SecretBytes) async throws -> Session {
        try await unlock(userID: userID, with: .password(password))
    }

    /// Returns a token that is valid for another minute.
    public func accessToken() async throws -> AccessToken {
        try await accessToken(forceRefresh: false, minimumValidity: .seconds(60))
    }

    /// Returns a token that is valid for another minute.
    public func accessToken(forceRefresh: Bool) async throws -> AccessToken {
        try await accessToken(forceRefresh: forceRefresh, minimumValidity: .seconds(60))
    }

    /// Returns a token that is valid for at least this time.
    public func accessToken(minimumValidity: Duration) async throws -> AccessToken {
        try await accessToken(forceRefresh: false, minimumValidity: minimumValidity)
    }

    /// Returns a token of a login that is not stored yet. The token is valid for another minute.
    public func accessToken(of login: SignInResult, forceRefresh: Bool = false) async throws -> AccessToken {
        try await accessToken(of: login, forceRefresh: forceRefresh, minimumValidity: .seconds(60))
    }

    /// As ``authorizedTransport(for:as:leeway:over:)``, with the same warning. A token that ends within a minute is
    /// renewed before its use.
    ///
    /// - Parameters:
    ///   - origins: the servers that may get the access token, as URLs. Only scheme, host and port matter.
    ///   - login: a login that is not stored yet; nil for the account that is logged in.
    ///   - base: the transport of the requests; nil for the vault's own.
    public func authorizedTransport(
        for origins: [String], as login: SignInResult? = nil, over base: (any HTTPTransport)? = nil
    ) throws -> any HTTPTransport {
        try authorizedTransport(for: origins, as: login, leeway: .seconds(60), over: base)
    }

    /// As ``providerLogoutURL(redirectURI:state:)``, without a redirect: the browser stays at the provider.
    public func providerLogoutURL() async throws -> String {
        try await providerLogoutURL(redirectURI: nil, state: nil)
    }

    /// Locks the open account because the app or the person wants it.
    public func lock() async { await lock(.requested) }

    /// Logs in again with hardware.
    ///
    /// - Parameters:
    ///   - userID: the subject, an alias, the e-mail address or the preferred user name.
    ///   - provider: the hardware.
    ///   - prompt: asks the person for the hardware's PIN, and tells when to touch the hardware.
    ///   - storeNewRefreshToken: whether to ask the provider for new tokens now. If false, the provider is asked only
    ///     when no stored access token is valid. A renewed refresh token is stored in either case: otherwise it would
    ///     be lost.
    ///   - willBeginNetworkRequests: called once, after the hardware has finished.
    /// - Throws: ``VaultError`` as ``Auth/login(_:with:)``.
    @discardableResult
    public func loginWithBiometrics(
        userID: String, using provider: any BiometricProvider, prompt: any BiometricPrompt,
        storeNewRefreshToken: Bool = true, willBeginNetworkRequests: @escaping @Sendable () -> Void = {}
    ) async throws -> Session {
        let announced = AnnouncedProvider(base: provider, isDone: willBeginNetworkRequests)
        // A `PINProvider` has no hardware: it has finished when the person has typed the PIN.
        let isPIN = provider.kind == Keyslot.Kind.pin.rawValue
        let method = UnlockMethod.hardware(
            announced, isPIN ? AnnouncedPrompt(base: prompt, isDone: willBeginNetworkRequests) : prompt)
        return storeNewRefreshToken
            ? try await login(userID: userID, with: method) : try await unlock(userID: userID, with: method)
    }

    /// A stream of all session events from now on.
    public var sessionUpdates: AsyncStream<SessionUpdate> { sessionUpdates(replaying: false) }

    /// As ``enableBackgroundTimeout(duration:monitors:clock:handler:)``, on the machine's clock.
    public func enableBackgroundTimeout(
        duration: Duration, monitors: [any BackgroundMonitor], handler: @escaping @Sendable () async -> Void
    ) async {
        await enableBackgroundTimeout(
            duration: duration, monitors: monitors, clock: ContinuousClock(), handler: handler)
    }

    /// As ``enableBackgroundTimeout(duration:monitors:clock:handler:)``, with one monitor.
    ///
    /// - Parameters:
    ///   - duration: the longest time in the background.
    ///   - monitor: the monitor; ``StopSignalMonitor`` for a program in a terminal by default.
    ///   - clock: measures the time.
    ///   - handler: called after the session was locked.
    public func enableBackgroundTimeout(
        duration: Duration, monitor: any BackgroundMonitor = StopSignalMonitor(),
        clock: any Clock<Duration> = ContinuousClock(), handler: @escaping @Sendable () async -> Void
    ) async {
        await enableBackgroundTimeout(duration: duration, monitors: [monitor], clock: clock, handler: handler)
    }

    /// As ``enableIdleTimeout(_:clock:handler:)``, on the machine's clock.
    public func enableIdleTimeout(_ duration: Duration, handler: @escaping @Sendable () async -> Void = {}) async {
        await enableIdleTimeout(duration, clock: ContinuousClock(), handler: handler)
    }
}
