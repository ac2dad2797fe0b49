public import Foundation
internal import OpenIDConnect
internal import VaultBackground
internal import VaultCrypto
package import VaultHTTP
public import VaultStorage
package import VaultUnlock

/// Logs one person in and out, and has this person's tokens: the opener of sessions, plus the one login that is
/// current. It only calls other parts, which hold the state.
public final class Auth: AuthProtocol {
    let settings: Settings?
    package let opener: SessionOpener
    /// The person who is logged in.
    let current: CurrentLogin
    /// The sign-ins that wait for a person.
    let signIns: SignIns
    /// The logins that are not stored yet.
    let unstoredLogins: UnstoredLogins
    let timeouts = SessionTimeouts()
    let idle: IdleMonitor

    /// - Parameters:
    ///   - settings: the settings of a login; nil for an app that only opens existing accounts.
    ///   - listening: opens a port for the browser's redirect.
    package init(settings: Settings?, opener: SessionOpener, listening: any RedirectListening) {
        let (accounts, providers, idle) = (opener.accounts, opener.providers, IdleMonitor())
        self.settings = settings
        self.opener = opener
        self.idle = idle
        unstoredLogins = UnstoredLogins(clock: accounts.clock)
        signIns = SignIns(
            settings: settings, transport: opener.providerTransport, listening: listening, accounts: accounts,
            issuers: opener.issuers, providers: providers)
        // A login is an action of the person, so the idle timeout starts again.
        current = CurrentLogin(
            updates: opener.updates, willBegin: { idle.noteActivity() }, didEnd: { providers.forgetSecrets() })
    }

    package var accounts: Accounts { opener.accounts }
    var issuers: Issuers { opener.issuers }

    // MARK: - Signing in

    /// Signs in. Nothing is stored yet: pass the result to `storage.storeRefreshToken(_:withNewPassword:)`. Until then
    /// the earlier person stays logged in. The new login authorizes only calls that name it:
    /// ``accessToken(of:forceRefresh:minimumValidity:)``, ``authorizedTransport(for:as:leeway:over:)``. To discard the
    /// login: ``revoke(_:)``.
    ///
    /// - Throws: ``VaultError`` with one of these codes:
    ///   - `cancelled`: the person stopped.
    ///   - `identityProviderUnavailable`, `identityProviderTimedOut`, `identityProviderInterrupted`,
    ///     `identityProviderAnswerInvalid`: try again later.
    ///   - `refreshTokenExpired`: the provider did not accept the code. Start again.
    ///   - `interactionRequired`: sign in again without `prompt=none`.
    ///   - `tokenInvalid`: tell the provider's operator.
    ///   - `configurationInvalid`, `forbiddenByPolicy`: correct the setting.
    ///   - `wrongSecret`, `passwordUnusable`, with a password: ask again.
    ///   - `tooManyAttempts`, with a password: wait for ``VaultError/retryAfter``.
    ///   - `deviceCodeExpired`, on another device: start again.
    @discardableResult
    public func signIn(_ method: any SignIn) async throws -> SignInResult {
        try await signIns.run(method, at: nil, layout: nil)
    }

    /// Takes the URL that the provider redirected to, for an app that receives it itself (a custom scheme).
    ///
    /// - Returns: false if no login waits for it.
    @discardableResult
    public func handleRedirect(url: URL) -> Bool { signIns.handleRedirect(url.absoluteString) }

    // MARK: - While logged in

    /// Tells when the program may stop without losing a renewed token or a guess.
    public var stopGuard: StopGuard { accounts.stopGuard }

    /// Whether somebody is logged in.
    public var isLoggedIn: Bool { current.isLoggedIn }

    /// Returns a new stream of all session events from now on. No listener misses an event or delays another listener.
    ///
    /// ```swift
    /// for await update in vault.auth.sessionUpdates(replaying: true) { print(update.account, update.event) }
    /// ```
    ///
    /// - Parameter isReplaying: whether the stream begins with `loggedIn` of the account that is logged in now, if
    ///   there is one.
    public func sessionUpdates(replaying isReplaying: Bool) -> AsyncStream<SessionUpdate> {
        current.updates.stream { [current] in
            guard isReplaying, case .open(let session) = current.login, session.isLogin else { return nil }
            return SessionUpdate(.loggedIn, session.id)
        }
    }

    /// The open account, if there is one. After an error of a login, it may be the earlier person's: see
    /// ``VaultError/openedSession``.
    public var session: Session? { current.session }

    /// Returns a token that is valid for another minute. See ``Session/accessToken(forceRefresh:minimumValidity:)``.
    public func accessToken() async throws -> AccessToken {
        if case .open(let session) = current.login, let token = session.tokenAtHand(validFor: .seconds(60)) {
            return token
        }
        return try await accessToken(forceRefresh: false, minimumValidity: .seconds(60))
    }

    /// Returns a valid access token. See ``Session/accessToken(forceRefresh:minimumValidity:)``.
    public func accessToken(
        forceRefresh: Bool, minimumValidity: Duration
    ) async throws -> AccessToken {
        switch current.login {
        case .none:
            throw VaultError(.notLoggedIn, "Nobody is logged in. Log in first.")
        case .unstored(let token):
            return try await accessToken(of: token, forceRefresh: forceRefresh, minimumValidity: minimumValidity)
        case .open(let session):
            if !forceRefresh, let token = session.tokenAtHand(validFor: minimumValidity) { return token }
            return try await session.accessToken(forceRefresh: forceRefresh, minimumValidity: minimumValidity)
        }
    }

    /// Returns another access token than the one that a server refused. See
    /// ``Session/accessToken(replacing:minimumValidity:)``.
    public func accessToken(replacing refused: AccessToken) async throws -> AccessToken {
        try await holder().accessToken(replacing: refused)
    }

    /// The refresh token of the person who is logged in.
    public var refreshToken: SignInResult {
        get async throws {
            switch current.login {
            case .none: throw VaultError(.notLoggedIn, "Nobody is logged in. Log in first.")
            case .unstored(let token): await unstoredLogins.newest(token) ?? token
            case .open(let session): try await session.refreshToken()
            }
        }
    }

    /// The issuer of the accounts; nil for accounts of any issuer.
    package var issuerOfAccounts: String? { settings.flatMap { $0.issuer.isEmpty ? nil : $0.issuer } }
}
