public import Foundation
internal import OpenIDConnect
internal import VaultBackground
internal import VaultCrypto
package import VaultHTTP
internal import VaultLocks
public import VaultStorage

/// Logs in and out, and has the tokens of the person who is logged in: one at a time. It is a front: the parts that it
/// calls have the state.
public final class Auth: AuthProtocol {
    let settings: Settings?
    package let accounts: Accounts
    /// Carries what an app sends.
    let transport: any HTTPTransport
    /// Who is logged in.
    let current: CurrentLogin
    /// The sign-ins that wait for a person.
    let signIns: SignIns
    /// What those gave that is not stored yet.
    let unstoredLogins: UnstoredLogins
    let issuers: Issuers
    let providers: Providers
    let timeouts = SessionTimeouts()
    let agent: (any SessionAgent)?
    let idle: IdleMonitor

    /// - Parameters:
    ///   - settings: nil for an app that only opens accounts that exist.
    ///   - listening: opens a port for the browser's redirect.
    ///   - issuers: the kinds of servers besides OpenID providers. The first that fits an account counts.
    ///   - agent: holds accounts open for several programs; nil to do without.
    package init(
        settings: Settings?, accounts: Accounts, transport: any HTTPTransport, listening: any RedirectListening,
        issuers kinds: [any IssuerKind] = [], agent: (any SessionAgent)? = nil
    ) {
        let providerTransport = ProviderTransport(
            base: transport, limits: settings?.limits ?? HTTPLimits(), logger: accounts.logger)
        let providers = Providers(
            usesDPoP: settings?.usesDPoP ?? true, transport: providerTransport, clock: accounts.clock)
        let issuers = Issuers(kinds: kinds + [OpenIDIssuers(providers: providers)])
        let idle = IdleMonitor()
        self.settings = settings
        self.accounts = accounts
        self.transport = transport
        self.providers = providers
        self.issuers = issuers
        self.idle = idle
        self.agent = agent
        unstoredLogins = UnstoredLogins(clock: accounts.clock)
        signIns = SignIns(
            settings: settings, transport: providerTransport, listening: listening, accounts: accounts,
            issuers: issuers,
            providers: providers)
        // A login is something that the person did: the idle timeout counts from it.
        current = CurrentLogin(
            updates: SessionUpdates(logger: accounts.logger), willBegin: { idle.noteActivity() },
            didEnd: { providers.forgetSecrets() })
        accounts.onNotice { [weak updates = current.updates] in updates?.send(SessionUpdate($0)) }
    }

    // MARK: - Signing in

    /// Signs in. Nothing is stored yet: pass the result to `storage.storeRefreshToken(_:withNewPassword:)`. Until then
    /// the person who is logged in stays so, and the new login authorizes only what names it: ``accessToken(of:forceRefresh:minimumValidity:)``,
    /// ``authorizedTransport(for:as:leeway:over:)``. To give it up: ``revoke(_:)``.
    ///
    /// - Throws: ``VaultError``: `cancelled`, `tokenInvalid`, `configurationInvalid`, `forbiddenByPolicy`,
    ///   `interactionRequired`, `identityProviderUnavailable`, `identityProviderTimedOut`,
    ///   `identityProviderInterrupted`, `identityProviderAnswerInvalid`; `refreshTokenExpired` when the provider does
    ///   not take the code: start again. With a password also `wrongSecret`, `passwordUnusable` and `tooManyAttempts`,
    ///   on another device also `deviceCodeExpired`.
    @discardableResult
    public func signIn(_ way: any SignIn) async throws -> RefreshToken {
        try await signIns.run(way, at: nil, layout: nil)
    }

    /// Hands over the URL that the provider redirected to, for an app that receives it itself (a custom scheme).
    ///
    /// - Returns: false when no login is waiting for one.
    @discardableResult
    public func handleRedirect(url: URL) -> Bool { signIns.handleRedirect(url.absoluteString) }

    // MARK: - While logged in

    /// Tells when the program may stop without losing a token that the provider has just renewed.
    public var stopGuard: StopGuard { accounts.stopGuard }

    /// Whether somebody is logged in.
    public var isLoggedIn: Bool { current.isLoggedIn }

    /// What happens to sessions from now on: a stream of its own for everybody who asks. None of them misses anything,
    /// and none holds up another.
    ///
    /// ```swift
    /// for await update in vault.auth.sessionUpdates(replaying: true) { print(update.account, update.event) }
    /// ```
    ///
    /// - Parameter isReplaying: whether it begins with `loggedIn` of the account that is logged in now, if there is one.
    public func sessionUpdates(replaying isReplaying: Bool) -> AsyncStream<SessionUpdate> {
        current.updates.stream { [current] in
            guard isReplaying, case .open(let session) = current.login, session.isLogin else { return nil }
            return SessionUpdate(.loggedIn, session.id)
        }
    }

    /// The open account, if there is one.
    public var session: Session? { current.session }

    /// A token that is valid for another minute. See ``Session/accessToken(forceRefresh:minimumValidity:)``.
    public func accessToken() async throws -> AccessToken {
        if case .open(let session) = current.login, let token = session.tokenAtHand(validFor: .seconds(60)) {
            return token
        }
        return try await accessToken(forceRefresh: false, minimumValidity: .seconds(60))
    }

    /// A valid access token. See ``Session/accessToken(forceRefresh:minimumValidity:)``.
    public func accessToken(
        forceRefresh: Bool, minimumValidity: Duration
    ) async throws -> AccessToken {
        switch current.login {
        case .none:
            throw VaultError(.notLoggedIn, "Nobody is logged in.")
        case .unstored(let token):
            return try await accessToken(of: token, forceRefresh: forceRefresh, minimumValidity: minimumValidity)
        case .open(let session):
            if !forceRefresh, let token = session.tokenAtHand(validFor: minimumValidity) { return token }
            return try await session.accessToken(forceRefresh: forceRefresh, minimumValidity: minimumValidity)
        }
    }

    /// Another access token than one that a server refused. See ``Session/accessToken(replacing:minimumValidity:)``.
    public func accessToken(replacing refused: AccessToken) async throws -> AccessToken {
        try await holder().accessToken(replacing: refused)
    }

    /// The refresh token of the person who is logged in.
    public var refreshToken: RefreshToken {
        get async throws {
            switch current.login {
            case .none: throw VaultError(.notLoggedIn, "Nobody is logged in.")
            case .unstored(let token): await unstoredLogins.newest(token) ?? token
            case .open(let session): try await session.refreshToken()
            }
        }
    }

    /// The issuer whose accounts are meant; nil for those of every issuer.
    package var issuerOfAccounts: String? { settings.flatMap { $0.issuer.isEmpty ? nil : $0.issuer } }

    package func converting<R>(_ body: () async throws -> R) async throws -> R {
        do { return try await body() } catch { throw VaultError.converting(error) }
    }
}
