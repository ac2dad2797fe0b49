internal import Foundation
internal import OpenIDConnect
internal import VaultBase
internal import VaultStorage

/// The logins that are not stored yet. Their tokens are renewed in memory on request. The newest token is stored in the
/// end. The app keeps the value from the sign-in.
actor UnstoredLogins {
    private struct Key: Hashable, CustomStringConvertible, CustomReflectable {
        let account: AccountID
        let value: String

        init(_ login: SignInResult) { (account, value) = (login.account, login.value) }

        var description: String { "\(account)" }
        var customMirror: Mirror { Mirror(self, children: []) }
    }

    private struct Login {
        /// The newest form of the login. Nil after it was stored: then only the store has the newest form.
        var token: SignInResult?
        var isBeingStored = false
        /// The provider's refusal of the refresh token; the login is then useless. Nil if there is none.
        var refusal: VaultError?
        var renewal: Task<AccessToken, any Error>?
        /// Whether the token of the renewal is only for one service. Nobody else may get it.
        var isForAudience = false
    }

    private var logins: [Key: Login] = [:]
    private let clock: any WallClock

    init(clock: any WallClock) { self.clock = clock }

    /// A request for an access token.
    struct Request {
        var force = false
        var minimumValidity = Duration.seconds(60)
        /// The value of a token that a server refused.
        var rejected: String?
    }

    /// Returns the newest form of a login; nil if it was stored.
    func newest(_ login: SignInResult) -> SignInResult? { current(Key(login), login).token }

    /// Returns the present access token, or a new one. Only one renewal runs at a time.
    func accessToken(
        of login: SignInResult, _ request: Request, from issuer: any TokenIssuer
    ) async throws -> AccessToken {
        let key = Key(login)
        while let known = logins[key], known.isForAudience, let renewal = known.renewal { _ = await renewal.result }
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

    /// Returns a new access token for one audience. The login gets the renewed refresh token, and keeps its present
    /// access token.
    func accessToken(
        of login: SignInResult, for audience: String, from issuer: any AudienceIssuer
    ) async throws -> AccessToken {
        let key = Key(login)
        // One refresh token must not be used twice.
        while let renewal = logins[key]?.renewal { _ = await renewal.result }
        let current = current(key, login)
        guard let token = current.token else { throw Self.stored }
        if let refusal = current.refusal { throw refusal }
        guard !current.isBeingStored else { throw Self.busy }
        return try await renew(token, key, from: issuer, audience: audience).value
    }

    /// Begins to store a login, after a renewal that is under way. No token is renewed until
    /// ``endStoring(_:isStored:)``.
    ///
    /// - Returns: the newest form of the login.
    /// - Throws: ``VaultError`` with code `notLoggedIn` if it was stored before, or `busy` while it is being stored.
    func beginStoring(_ login: SignInResult) async throws -> SignInResult {
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

    func endStoring(_ login: SignInResult, isStored: Bool) {
        let key = Key(login)
        logins[key]?.isBeingStored = false
        if isStored { logins[key]?.token = nil }
    }

    private func current(_ key: Key, _ login: SignInResult) -> Login { logins[key] ?? Login(token: login) }

    private func renew(
        _ token: SignInResult, _ key: Key, from issuer: any TokenIssuer, audience: String? = nil
    ) -> Task<AccessToken, any Error> {
        // The renewal goes on if its caller stops waiting: the old token may no longer work.
        let task = Task {
            defer { logins[key]?.renewal = nil }
            do {
                return try await exchange(token, key, from: issuer, audience: audience)
            } catch let error as OpenIDConnectError where error.code == .invalidGrant {
                throw refuse(key, error)
            }
        }
        logins[key] = Login(token: token, renewal: task, isForAudience: audience != nil)
        return task
    }

    private nonisolated func exchange(
        _ token: SignInResult, _ key: Key, from issuer: any TokenIssuer, audience: String?
    ) async throws -> AccessToken {
        var renewed = token
        func keep(_ credential: Credential) async throws {
            renewed.credential = credential
            await self.keep(renewed, key)
        }
        let tokens =
            if let audience, let issuer = issuer as? any AudienceIssuer {
                try await issuer.renew(token.credential, of: token.account, audience: audience, keep: keep)
            } else {
                try await issuer.renew(token.credential, of: token.account, keep: keep)
            }
        if renewed.credential.value == token.credential.value {
            // The issuer may have forgotten to call `keep`.
            renewed.credential.value = tokens.refreshToken ?? token.credential.value
        }
        let accessToken = AccessToken(
            value: tokens.accessToken, tokenType: tokens.tokenType, expiresAt: tokens.expiresAt,
            scope: tokens.scope ?? token.scope, obtainedAt: clock.now)
        guard audience == nil else {
            await self.keep(renewed, key)
            return accessToken
        }
        renewed.accessToken = accessToken
        renewed.idToken = tokens.idToken?.encoded ?? renewed.idToken
        await self.keep(renewed, key)
        return accessToken
    }

    /// Waits for a renewal that is under way, then returns the newest form of the login. After that the login gives out
    /// no token.
    func revoking(_ login: SignInResult) async -> SignInResult? {
        let key = Key(login)
        while let renewal = logins[key]?.renewal { _ = await renewal.result }
        let token = current(key, login).token
        if let token { logins[key] = Login(token: token, refusal: Self.revoked) }
        return token
    }

    private func refuse(_ key: Key, _ error: any Error) -> VaultError {
        let refusal = VaultError(
            .refreshTokenExpired,
            "The identity provider no longer accepts the refresh token of this login. Sign in again.",
            underlying: error)
        logins[key]?.refusal = refusal
        return refusal
    }

    private static var revoked: VaultError {
        VaultError(.notLoggedIn, "This login was revoked. Sign in again.")
    }

    private func keep(_ token: SignInResult, _ key: Key) { logins[key]?.token = token }

    private static var stored: VaultError {
        VaultError(.notLoggedIn, "This login was stored already. Open the account, or sign in again.")
    }

    private static var busy: VaultError {
        VaultError(.busy, "This login is being stored right now. Try again.")
    }
}
