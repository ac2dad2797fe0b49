public import Foundation
public import OpenIDConnect
public import VaultBackground
public import VaultBiometric
public import VaultCrypto
public import VaultHTTP
public import VaultStorage

/// Logs in and out, and has the tokens. An app calls these methods, and its tests replace them. ``Auth`` implements this
/// protocol.
///
/// A conformer must not assume that calls come one at a time, or that an account still is as it was a moment ago. One
/// person at a time is logged in. Everything that throws throws ``VaultError``.
public protocol AuthProtocol: Sendable {
    // MARK: Signing in at the provider

    /// Signs in. Nothing is stored yet: pass the result to ``StorageProtocol/storeRefreshToken(_:withNewPassword:alias:replacingItems:)``.
    @discardableResult
    func signIn(_ way: any SignIn) async throws -> RefreshToken
    /// Whether the provider can sign somebody in on another device (RFC 8628): see ``DeviceSignIn``.
    func offersDeviceSignIn() async throws -> Bool
    /// Hands over the URL that the provider redirected to. False when no login is waiting for one.
    @discardableResult
    func handleRedirect(url: URL) async -> Bool
    /// Takes tokens that were got elsewhere. See ``Auth/setTokens(access:refresh:expiresIn:subject:)``.
    @discardableResult
    func setTokens(access: String, refresh: String, expiresIn: Duration?, subject: String?) async throws -> RefreshToken
    /// Forgets both tokens of the account that is logged in, also the stored ones.
    func clearTokens() async throws
    /// Changes how an account signs in at its server. See ``Auth/switchMethod(userID:password:to:)``.
    @discardableResult
    func switchMethod(
        userID: String, password: borrowing SecretBytes, to way: any SignIn
    ) async throws -> VaultError?

    // MARK: Opening accounts

    /// Logs in again: one call to the key service, and a fresh access token from the provider. See
    /// ``Auth/login(_:with:)``.
    @discardableResult
    func login(_ account: AccountID, with method: UnlockMethod) async throws -> Session
    /// As ``login(_:with:)``, for an account by one of its names, as a person types it.
    @discardableResult
    func login(userID: String, with method: UnlockMethod) async throws -> Session
    /// Opens an account and asks the provider for nothing yet.
    @discardableResult
    func unlock(_ account: AccountID, with method: UnlockMethod) async throws -> Session
    /// As ``unlock(_:with:)``, for an account by one of its names, as a person types it.
    @discardableResult
    func unlock(userID: String, with method: UnlockMethod) async throws -> Session
    /// Opens an account that the agent holds open, without a secret. See ``Auth/attach(userID:)``.
    @discardableResult
    func attach(_ account: AccountID) async throws -> Session
    /// As ``attach(_:)``, for an account by one of its names, as a person types it.
    @discardableResult
    func attach(userID: String) async throws -> Session
    /// Finds out what there is for a user, without a secret and without the network.
    func restoreSession(userID: String) async throws -> RestoredSession
    /// Opens an account, and has the provider confirm it.
    func restoreSession(userID: String, password: borrowing SecretBytes) async throws -> RestoredSession

    // MARK: While logged in

    /// Tells when the program may stop without losing a token that the provider has just renewed.
    var stopGuard: StopGuard { get }

    /// Whether somebody is logged in.
    var isLoggedIn: Bool { get }
    /// The open account, if there is one.
    var session: Session? { get }
    /// A stream of session events. Each call returns a new stream.
    ///
    /// - Parameter isReplaying: whether it begins with `loggedIn` of the account that is logged in now, if there is one.
    func sessionUpdates(replaying isReplaying: Bool) -> AsyncStream<SessionUpdate>
    /// The refresh token of the person who is logged in.
    var refreshToken: RefreshToken { get async throws }
    /// A token that is valid for another minute. A requirement of its own, as most calls are this one.
    func accessToken() async throws -> AccessToken
    /// A valid access token. See ``Session/accessToken(forceRefresh:minimumValidity:)``.
    func accessToken(forceRefresh: Bool, minimumValidity: Duration) async throws -> AccessToken
    /// A valid access token of a login that is not stored yet.
    func accessToken(of login: RefreshToken, forceRefresh: Bool, minimumValidity: Duration) async throws -> AccessToken
    /// Another access token than one that a server refused.
    func accessToken(replacing refused: AccessToken) async throws -> AccessToken
    /// Requests in the name of the person who is logged in. See ``Auth/authorizedTransport(for:as:leeway:over:)``.
    func authorizedTransport(
        for origins: [String], as login: RefreshToken?, leeway: Duration, over base: (any HTTPTransport)?
    ) throws -> any HTTPTransport
    /// A proof for one request with a bound token (RFC 9449 section 4).
    func proof(method: String, url: String, accessToken: AccessToken, nonce: String?) async throws -> String
    /// What the provider says now of the person who is logged in.
    func userInfo() async throws -> UserInfo
    /// The address that ends the person's session at the provider.
    func providerLogoutURL(redirectURI: String?, state: String?) async throws -> String

    // MARK: The end

    /// Locks the open account: keys and tokens leave the memory, and nothing else changes.
    func lock(_ reason: SessionUpdate.Reason) async
    /// Logs out: as ``lock(_:)``, and the cached access token leaves the disk. Returns why the backend could not be
    /// told of the logout; nil when it was told, or when it does not want to be told.
    @discardableResult func logout() async throws -> VaultError?
    /// Logs out, and has the provider revoke the refresh token. Nil when it did, or why it did not.
    func logoutEverywhere() async throws -> VaultError?
    /// Deletes the open account. Nil when the provider revoked the refresh token, or why it did not.
    func deleteAccount() async throws -> VaultError?
    /// Has the provider revoke a refresh token. Nil when it did, or why it did not.
    func revoke(_ token: RefreshToken) async -> VaultError?
    /// Removes an account's cached access token from the store.
    func removeAccessToken(of id: AccountID) async throws

    /// Locks the open account when the app was in the background for too long.
    func enableBackgroundTimeout(
        duration: Duration, monitors: [any BackgroundMonitor], clock: any Clock<Duration>,
        handler: @escaping @Sendable () async -> Void
    ) async
    /// What the timeouts listen to, and what keeps a monitor from it.
    func monitorStatus() async -> [MonitorStatus]
    /// Ends the background timeout.
    func disableBackgroundTimeout() async
    /// Locks the open account when nobody did anything for too long.
    func enableIdleTimeout(
        _ duration: Duration, clock: any Clock<Duration>, handler: @escaping @Sendable () async -> Void
    ) async
    /// Says that the person did something, so that the time of the idle timeout begins again.
    func noteActivity()
    /// Ends the idle timeout.
    func disableIdleTimeout() async
}

// The same with what is usual.
extension AuthProtocol {
    /// Signs in at the identity provider, in a browser: ``signIn(_:)`` with ``BrowserSignIn``.
    ///
    /// - Parameters:
    ///   - userAgent: shows the login to the person.
    ///   - parameters: what this sign-in asks for besides what the configuration says.
    @discardableResult
    public func performOpenIDConnectLogin(
        using userAgent: any UserAgent, parameters: SignInParameters = SignInParameters()
    ) async throws -> RefreshToken {
        try await signIn(BrowserSignIn(using: userAgent, parameters: parameters))
    }

    /// As ``setTokens(access:refresh:expiresIn:subject:)``; the provider says whose they are.
    @discardableResult
    public func setTokens(access: String, refresh: String, expiresIn: Duration? = nil) async throws -> RefreshToken {
        try await setTokens(access: access, refresh: refresh, expiresIn: expiresIn, subject: nil)
    }

    /// Logs in again with the password.
    ///
    /// - Parameters:
    ///   - userID: the subject, an alias, the e-mail address or the preferred user name.
    ///   - password: as typed, UTF-8. Typing it wrong costs one of the few guesses at the key service.
    /// - Throws: ``VaultError``: as ``Auth/login(_:with:)``.
    @discardableResult
    public func login(userID: String, password: borrowing SecretBytes) async throws -> Session {
        try await login(userID: userID, with: .password(password))
    }

    /// Opens an account with the password and asks the provider for nothing yet.
    @discardableResult
    public func unlock(userID: String, password: borrowing SecretBytes) async throws -> Session {
        try await unlock(userID: userID, with: .password(password))
    }

    /// A token that is valid for another minute.
    public func accessToken() async throws -> AccessToken {
        try await accessToken(forceRefresh: false, minimumValidity: .seconds(60))
    }

    /// A token that is valid for another minute.
    public func accessToken(forceRefresh: Bool) async throws -> AccessToken {
        try await accessToken(forceRefresh: forceRefresh, minimumValidity: .seconds(60))
    }

    /// A token that is valid for as long as that.
    public func accessToken(minimumValidity: Duration) async throws -> AccessToken {
        try await accessToken(forceRefresh: false, minimumValidity: minimumValidity)
    }

    /// A token, valid for another minute, of a login that is not stored yet.
    public func accessToken(of login: RefreshToken, forceRefresh: Bool = false) async throws -> AccessToken {
        try await accessToken(of: login, forceRefresh: forceRefresh, minimumValidity: .seconds(60))
    }

    /// As ``authorizedTransport(for:as:leeway:over:)``; a token that ends within a minute is renewed before it is used.
    ///
    /// - Parameters:
    ///   - origins: where the access token may be sent: URLs, of which scheme, host and port count.
    ///   - login: a login that is not stored yet; nil for the account that is logged in.
    ///   - base: what carries the requests; nil for the vault's own transport.
    public func authorizedTransport(
        for origins: [String], as login: RefreshToken? = nil, over base: (any HTTPTransport)? = nil
    ) throws -> any HTTPTransport {
        try authorizedTransport(for: origins, as: login, leeway: .seconds(60), over: base)
    }

    /// As ``providerLogoutURL(redirectURI:state:)``; the browser stays at the provider.
    public func providerLogoutURL() async throws -> String {
        try await providerLogoutURL(redirectURI: nil, state: nil)
    }

    /// Locks the open account because the app or the person asked for it.
    public func lock() async { await lock(.requested) }

    /// Logs in again with hardware.
    ///
    /// - Parameters:
    ///   - userID: the subject, an alias, the e-mail address or the preferred user name.
    ///   - provider: the hardware.
    ///   - prompt: asks the person for its PIN, and tells when it is to be touched.
    ///   - storeNewRefreshToken: whether to ask the provider for new tokens now. With false the account is opened, and
    ///     the provider is asked when an access token is needed that is not stored. A refresh token that the provider
    ///     renews is stored in either case: it would be lost otherwise.
    ///   - willBeginNetworkRequests: called once, when the hardware has done its part.
    /// - Throws: ``VaultError``: as ``Auth/login(_:with:)``.
    @discardableResult
    public func loginWithBiometrics(
        userID: String, using provider: any BiometricProvider, prompt: any BiometricPrompt,
        storeNewRefreshToken: Bool = true, willBeginNetworkRequests: @escaping @Sendable () -> Void = {}
    ) async throws -> Session {
        let announced = AnnouncedProvider(base: provider, isDone: willBeginNetworkRequests)
        // A `PINProvider` has no hardware: its part is done when the person has typed the PIN.
        let isPIN = provider.kind == Keyslot.Kind.pin.rawValue
        let method = UnlockMethod.hardware(
            announced, isPIN ? AnnouncedPrompt(base: prompt, isDone: willBeginNetworkRequests) : prompt)
        return storeNewRefreshToken
            ? try await login(userID: userID, with: method) : try await unlock(userID: userID, with: method)
    }

    /// What happens to sessions from now on.
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
    ///   - duration: how long the person may stay away.
    ///   - monitor: for a program in a terminal, unless another one is given.
    ///   - clock: measures the time away.
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
