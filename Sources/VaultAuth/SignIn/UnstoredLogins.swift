internal import Foundation
internal import OpenIDConnect
internal import VaultHTTP
internal import VaultStorage

/// Logins that are not stored yet. Their tokens are renewed in memory when somebody asks for them, and what is stored in
/// the end is the newest. The app keeps the value that it got when the person signed in.
actor UnstoredLogins {
    private struct Key: Hashable, CustomStringConvertible, CustomReflectable {
        let account: AccountID
        let value: String

        init(_ login: RefreshToken) { (account, value) = (login.account, login.value) }

        var description: String { "\(account)" }
        var customMirror: Mirror { Mirror(self, children: []) }
    }

    private struct Login {
        /// In its newest form; nil when it was stored: from then on only the store knows the newest.
        var token: RefreshToken?
        var isBeingStored = false
        /// Why the provider does not take the refresh token any more: nothing of the login is of use then.
        var refusal: VaultError?
        var renewal: Task<AccessToken, any Error>?
    }

    private var logins: [Key: Login] = [:]
    private let clock: any WallClock

    init(clock: any WallClock) { self.clock = clock }

    /// What is asked of an access token.
    struct Request {
        var force = false
        var minimumValidity = Duration.seconds(60)
        /// The value of a token that a server refused.
        var rejected: String?
    }

    /// A login in its newest form; nil when it was stored.
    func newest(_ login: RefreshToken) -> RefreshToken? { current(Key(login), login).token }

    /// An access token: the one at hand, or a new one. However many ask, one renewal is under way at a time.
    func accessToken(
        of login: RefreshToken, _ request: Request, from issuer: any TokenIssuer
    ) async throws -> AccessToken {
        let key = Key(login)
        let current = current(key, login)
        guard let token = current.token else { throw Self.stored }
        if let refusal = current.refusal { throw refusal }
        if !request.force, let accessToken = token.accessToken, accessToken.value != request.rejected,
            accessToken.isValid(for: request.minimumValidity, at: clock.now)
        {
            return accessToken
        }
        guard !current.isBeingStored else { throw Self.busy }
        return try await (current.renewal ?? renew(token, key, from: issuer)).value
    }

    /// Begins to store a login, after a renewal that is under way. Nothing is renewed until ``endStoring(_:isStored:)``.
    ///
    /// - Returns: its newest form.
    /// - Throws: ``VaultError`` with code `notLoggedIn` when it was stored before, `busy` when it is being stored.
    func beginStoring(_ login: RefreshToken) async throws -> RefreshToken {
        let key = Key(login)
        while let renewal = logins[key]?.renewal { _ = await renewal.result }
        var current = current(key, login)
        guard let token = current.token else { throw Self.stored }
        if let refusal = current.refusal { throw refusal }
        guard !current.isBeingStored else { throw Self.busy }
        current.isBeingStored = true
        logins[key] = current
        return token
    }

    func endStoring(_ login: RefreshToken, isStored: Bool) {
        let key = Key(login)
        logins[key]?.isBeingStored = false
        if isStored { logins[key]?.token = nil }
    }

    private func current(_ key: Key, _ login: RefreshToken) -> Login { logins[key] ?? Login(token: login) }

    private func renew(
        _ token: RefreshToken, _ key: Key, from issuer: any TokenIssuer
    ) -> Task<AccessToken, any Error> {
        // It goes on when the one who asked does not wait any more: the old token may be spent.
        let task = Task {
            defer { logins[key]?.renewal = nil }
            do {
                return try await exchange(token, key, from: issuer)
            } catch let error as OpenIDConnectError where error.code == .invalidGrant {
                throw refuse(key, error)
            }
        }
        logins[key] = Login(token: token, renewal: task)
        return task
    }

    private nonisolated func exchange(
        _ token: RefreshToken, _ key: Key, from issuer: any TokenIssuer
    ) async throws -> AccessToken {
        var renewed = token
        let tokens = try await issuer.renew(token.credential, of: token.account) { credential in
            renewed.credential = credential
            await self.keep(renewed, key)
        }
        if renewed.credential.value == token.credential.value {
            // Of an issuer that forgot to call it.
            renewed.credential.value = tokens.refreshToken ?? token.credential.value
        }
        let accessToken = AccessToken(
            value: tokens.accessToken, tokenType: tokens.tokenType, expiresAt: tokens.expiresAt,
            scope: tokens.scope ?? token.scope, obtainedAt: clock.now)
        renewed.accessToken = accessToken
        renewed.idToken = tokens.idToken?.encoded ?? renewed.idToken
        await keep(renewed, key)
        return accessToken
    }

    /// Waits for a renewal that is under way, and gives the login in its newest form for the last time: from now on it
    /// hands out nothing.
    func revoking(_ login: RefreshToken) async -> RefreshToken? {
        let key = Key(login)
        while let renewal = logins[key]?.renewal { _ = await renewal.result }
        let token = current(key, login).token
        if let token { logins[key] = Login(token: token, refusal: Self.revoked) }
        return token
    }

    private func refuse(_ key: Key, _ error: any Error) -> VaultError {
        let refusal = VaultError(
            .refreshTokenExpired,
            "The identity provider does not take the refresh token of this login any more. Sign in again.",
            underlying: error)
        logins[key]?.refusal = refusal
        return refusal
    }

    private static var revoked: VaultError {
        VaultError(.notLoggedIn, "This login was revoked. Sign in again.")
    }

    private func keep(_ token: RefreshToken, _ key: Key) { logins[key]?.token = token }

    private static var stored: VaultError {
        VaultError(.notLoggedIn, "This login was stored already. Open the account, or sign in again.")
    }

    private static var busy: VaultError {
        VaultError(.busy, "This login is being stored right now. Try again.")
    }
}
