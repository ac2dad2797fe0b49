internal import OpenIDConnect
public import VaultAuth
internal import VaultBase
public import VaultStorage

/// A browser sign-in at a backend that handles the protocol of its identity provider itself, with PKCE. The app gets
/// the backend's own access token, and no refresh token.
///
/// The issuer of the settings is the backend's base URL. The `state` in the redirect belongs to the backend, so this
/// program cannot check that the redirect belongs to its own login. Show the person which account is signed in.
public struct BackendSignIn: SignIn {
    let userAgent: any UserAgent
    let delivery: RedirectDelivery

    /// - Parameters:
    ///   - userAgent: shows the login to the person.
    ///   - delivery: how the redirect comes back.
    public init(using userAgent: any UserAgent, redirect delivery: RedirectDelivery = .automatic) {
        self.userAgent = userAgent
        self.delivery = delivery
    }

    /// Signs in with the browser, and waits at most 300 seconds for it. `AuthProtocol.signIn(_:)` calls this, and turns
    /// each error below into a `VaultError`.
    ///
    /// - Returns: the login, with the access token of the backend. It is not stored yet.
    /// - Throws: `OpenIDConnectError`: `denied`: the person said no. `callbackInvalid`: start again. `refused`: start
    ///   again; if it stays, check the layout of the backend. `invalidAnswer`: check the address of the backend.
    ///   `unavailable`, `timedOut`, `interrupted`: try again later. `RedirectListenerError` with code `timedOut`,
    ///   `VaultError` with code `cancelled`: the browser did not come back in time, start again. `VaultError`:
    ///   `configurationInvalid` when an address, the layout or the browser cannot be used, `storeCorrupt` when the
    ///   stored layout is damaged. Errors of the user agent.
    public func run(in context: SignInContext) async throws -> SignInResult {
        let backend = BrowserBackend(
            connection: try context.backendConnection(), layout: try context.backendLayout().browser,
            clock: context.clock)
        let receiver = try await context.receiver(for: delivery)
        return try await receiver.finish(
            opening: backend.loginURL(redirectURI: receiver.redirectURI), with: userAgent
        ) { redirect in
            try await backend.redeem(redirect, redirectURI: receiver.redirectURI)
        }
    }
}

/// A backend in front of an identity provider.
struct BrowserBackend: UserInfoSource, LogoutListener {
    let connection: BackendConnection
    let layout: BackendLayout.Browser
    let clock: any WallClock

    func loginURL(redirectURI: String) -> String {
        EndpointURL.adding([(layout.redirectURI, redirectURI)], to: connection.endpoint.url(layout.login))
    }

    func redeem(_ redirect: String, redirectURI: String) async throws -> SignInResult {
        let callback = try AuthorizationResponse(redirect)
        if let refusal = try callback.refusal(besides: layout.code) { throw refusal }
        let (code, state) = (try callback.required(layout.code), try callback.required(layout.state))
        let now = clock.now
        let answer = try await connection.post(
            layout.token,
            json: JSONValue([
                (layout.code, .string(code)), (layout.state, .string(state)),
                (layout.redirectURI, .string(redirectURI)),
            ]), secrets: [code, state])
        let call = "POST \(layout.token)"
        let tokens = try layout.tokens.signedIn(in: answer, sentAt: now, call: call)
        guard let user = BackendUser(besideTokens: answer, layout.user) else {
            throw VaultError.missing("identifier of the person", "\(layout.user.object).\(layout.user.id)", in: call)
        }
        let credential = Credential(
            value: tokens.accessToken, scope: tokens.scope, expiresAt: tokens.expiresAt, isAccessToken: true)
        return SignInResult(
            standing: credential, user: user, endpoint: connection.endpoint, method: .backend, at: now)
    }

    func warmUp() async {}

    func renew(
        _ credential: Credential, of id: AccountID, keep: (Credential) async throws -> Void
    ) async throws -> TokenSet {
        try await standingToken.confirm(credential, of: id, keep: keep)
    }

    private var standingToken: StandingToken {
        StandingToken(connection: connection, path: layout.me, fields: layout.user, clock: clock)
    }

    func revoke(_ credential: Credential, of id: AccountID) async throws {
        do {
            try await connection.end(
                layout.logout, json: .object([:]), secret: credential.value, bearer: credential.value)
        } catch let error as OpenIDConnectError where error.status == 401 {
            guard await standingToken.hasEnded(credential) else { throw error }
        }
    }

    var wantsLogout: Bool { layout.localLogout?.isEmpty == false }

    func loggedOut(accessToken: String) async throws {
        try await connection.tellLogout(layout.localLogout, token: accessToken, now: clock.now)
    }

    func userInfo(accessToken: String) async throws -> UserInfo {
        UserInfo(try BackendUser(try await connection.get(layout.me, token: accessToken), layout.user))
    }
}
