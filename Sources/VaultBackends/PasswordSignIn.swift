internal import Foundation
internal import OpenIDConnect
public import VaultAuth
internal import VaultBase
public import VaultCrypto
public import VaultStorage

/// A sign-in with e-mail address and password at a backend that issues refresh tokens.
///
/// The issuer of the settings is the backend's base URL. Impossible credentials are not sent. After wrong passwords,
/// this machine also makes the person wait, even after a restart.
public struct PasswordSignIn: SignIn {
    let email: String
    let password: SharedSecret

    /// - Parameters:
    ///   - email: the person's e-mail address at the backend.
    ///   - password: the person's password at the backend, UTF-8.
    public init(email: String, password: borrowing SecretBytes) throws {
        self.email = email
        self.password = SharedSecret(try password.copy())
    }

    /// Signs in with e-mail address and password. `AuthProtocol.signIn(_:)` calls it, and gives each error below as a
    /// `VaultError`.
    ///
    /// - Returns: the login. It is not stored yet.
    /// - Throws: `VaultError`: `passwordUnusable`: nothing was sent, ask the person again. `wrongSecret`: ask the
    ///   person again. `tooManyAttempts`: wait for `VaultError.retryAfter`. `configurationInvalid`: correct the address
    ///   or the layout of the backend. `storeCorrupt`: the stored layout is damaged, register again.
    ///   `OpenIDConnectError`: `unavailable`, `timedOut`, `interrupted`: try again later. `refused`, `invalidAnswer`:
    ///   check the layout of the backend.
    public func run(in context: SignInContext) async throws -> SignInResult {
        let connection = try context.backendConnection()
        let layout = try context.backendLayout().password
        let text = try PasswordInput.checked(
            username: email, password: password.bytes, minimumLength: layout.minimumPasswordLength)
        let now = context.clock.now
        let attempts = LoginAttempts(backend: connection.endpoint.url, username: email, context: context)
        let answer = try await attempts.charge {
            try await connection.post(
                layout.login,
                credentials: JSONValue([(layout.email, .string(email)), (layout.password, .string(text))]),
                password: text, refusals: [401], now: now)
        }
        let backend = PasswordBackend(connection: connection, layout: layout, clock: context.clock)
        return try await backend.signedIn(answer, at: now)
    }
}

/// A backend that takes passwords and issues refresh tokens.
struct PasswordBackend: UserInfoSource, LogoutListener {
    let connection: BackendConnection
    let layout: BackendLayout.Password
    let clock: any WallClock

    func signedIn(_ answer: JSONValue, at now: Date) async throws -> SignInResult {
        let tokens = try TokenAnswer(answer, layout.tokens.fields, sentAt: now).usable()
        guard let refreshToken = tokens.refreshToken else {
            throw OpenIDConnectError(.invalidAnswer, "it has no refresh token", mayHaveBeenProcessed: true)
        }
        let user = try await user(of: tokens.accessToken)
        return SignInResult(
            Credential(value: refreshToken, scope: tokens.scope),
            account: AccountID(issuer: connection.endpoint.url, subject: user.id), method: .passwordBackend,
            clientID: "", identity: user.identity,
            accessToken: AccessToken(
                value: tokens.accessToken, tokenType: "Bearer", expiresAt: Self.end(of: tokens), scope: tokens.scope,
                obtainedAt: now))
    }

    func warmUp() async {}

    func renew(
        _ credential: Credential, of id: AccountID, keep: (Credential) async throws -> Void
    ) async throws -> TokenSet {
        let now = clock.now
        let answer = try await connection.post(
            layout.refresh, json: JSONValue([(layout.refreshToken, .string(credential.value))]),
            secrets: [credential.value]
        ) { status, error in
            if error == "invalid_grant" { return .invalidGrant }
            return [400, 401, 404].contains(status) && !Self.otherMeanings.contains(error ?? "") ? .invalidGrant : nil
        }
        let claimed = JWT.claims(in: answer[path: layout.tokens.accessToken]?.string)?["sub"]?.identifier
        let isSomebodyElse = claimed != nil && claimed != id.subject
        if isSomebodyElse && layout.me.isEmpty {
            // The subject came from such a claim. Another person's refresh token must not replace this one.
            throw OpenIDConnectError(.userInfoInvalid, "it is about another person", mayHaveBeenProcessed: true)
        }
        var renewed = credential
        // An answer without a refresh token keeps the old one.
        let tokens = TokenAnswer(answer, layout.tokens.fields, sentAt: now)
        renewed.value = tokens.refreshToken ?? credential.value
        if tokens.hasToken { try await keep(renewed) }
        try tokens.usable()
        // The backend may use other identifiers in its tokens, so it is asked. If it does not answer, this call fails.
        // The new refresh token is stored already, and the next login asks again.
        var person: UserInfo?
        if isSomebodyElse {
            let user = try await user(of: tokens.accessToken)
            try user.require(id, mayHaveBeenProcessed: true)
            person = UserInfo(user)
        }
        return TokenSet(
            accessToken: tokens.accessToken, expiresAt: Self.end(of: tokens), scope: tokens.scope,
            refreshToken: tokens.refreshToken, userInfo: person)
    }

    /// OAuth's error codes that are not about the refresh token (RFC 6749 section 5.2).
    private static let otherMeanings: Set<String> = [
        "invalid_request", "invalid_client", "unauthorized_client", "unsupported_grant_type", "invalid_scope",
    ]

    func revoke(_ credential: Credential, of id: AccountID) async throws {
        try await connection.end(
            layout.logout, json: JSONValue([(layout.refreshToken, .string(credential.value))]),
            secret: credential.value)
    }

    var wantsLogout: Bool { layout.localLogout?.isEmpty == false }

    func loggedOut(accessToken: String) async throws {
        try await connection.tellLogout(layout.localLogout, token: accessToken, now: clock.now)
    }

    func userInfo(accessToken: String) async throws -> UserInfo { UserInfo(try await user(of: accessToken)) }

    /// Finds the person of an access token: asks the backend, or reads the token's claims if the backend has no such
    /// call.
    func user(of accessToken: String) async throws -> BackendUser {
        if !layout.me.isEmpty {
            do {
                return try BackendUser(try await connection.get(layout.me, token: accessToken), layout.user)
            } catch let error as OpenIDConnectError where error.status == 404 || error.status == 410 {
                // The backend has no such call.
            }
        }
        guard let user = JWT.claims(in: accessToken).flatMap(BackendUser.init(claims:)) else {
            throw OpenIDConnectError(.invalidAnswer, "it has no identifier of the person", mayHaveBeenProcessed: true)
        }
        return user
    }

    private static func end(of tokens: TokenAnswer) -> Date? {
        tokens.expiresAt
            ?? Lifetime.time(JWT.claims(in: tokens.accessToken)?["exp"]).map(Date.init(timeIntervalSince1970:))
    }
}
