internal import Foundation
internal import OpenIDConnect
internal import VaultAuth
internal import VaultBase
internal import VaultStorage

/// A server as the issuer of an account's tokens. It renews OAuth's refresh tokens, and checks other tokens.
struct ServerIssuer: UserInfoSource, LogoutListener {
    let server: Server
    let method: SignInMethod
    let clientID: String

    func warmUp() async {}

    func renew(
        _ credential: Credential, of id: AccountID, keep: (Credential) async throws -> Void
    ) async throws -> TokenSet {
        guard !isStanding(credential) else { return try await standingToken.confirm(credential, of: id, keep: keep) }
        let tokens = try await client(of: credential).redeem(.refreshToken(credential.value), at: server)
        var renewed = credential
        // An answer without a refresh token keeps the old one (RFC 6749 section 6).
        renewed.value = tokens.refreshToken ?? credential.value
        renewed.scope = tokens.scope ?? credential.scope
        if tokens.hasToken { try await keep(renewed) }
        try tokens.usable()
        // Most tokens do not name their person. In others, the server may use another identifier, so the server is
        // asked.
        var person: UserInfo?
        if let claimed = JWT.claims(in: tokens.accessToken)?["sub"]?.identifier, claimed != id.subject {
            let user = try await user(of: tokens.accessToken)
            try user.require(id, mayHaveBeenProcessed: true)
            person = UserInfo(user)
        }
        return TokenSet(
            accessToken: tokens.accessToken, expiresAt: tokens.expiresAt, scope: tokens.scope,
            refreshToken: tokens.refreshToken, userInfo: person)
    }

    /// Whether the credential is an access token, and nothing renews it.
    private func isStanding(_ credential: Credential) -> Bool {
        method != .serverOAuth || credential.isAccessToken == true
    }

    private var standingToken: StandingToken {
        StandingToken(
            connection: server.connection, path: server.layout.profile, fields: server.layout.user, clock: server.clock)
    }

    func revoke(_ credential: Credential, of id: AccountID) async throws {
        do {
            try await end(credential)
        } catch let error as OpenIDConnectError where error.status == 401 && isStanding(credential) {
            guard await standingToken.hasEnded(credential) else { throw error }
        }
    }

    private func end(_ credential: Credential) async throws {
        guard method == .serverOAuth else {
            return try await server.connection.end(
                server.layout.apiTokenRevocation, json: .object([:]), secret: credential.value,
                bearer: credential.value)
        }
        // Some servers want an access token as proof of the person. A refresh token does not prove that.
        let isAccessToken = credential.isAccessToken == true
        try await client(of: credential).revoke(
            credential.value, hint: isAccessToken ? "access_token" : "refresh_token", at: server,
            bearer: isAccessToken ? credential.value : nil)
    }

    private func client(of credential: Credential) -> OAuthClient {
        server.client(id: clientID, secret: credential.clientSecret)
    }

    var wantsLogout: Bool { server.layout.localLogout?.isEmpty == false }

    func loggedOut(accessToken: String) async throws {
        try await server.connection.tellLogout(
            server.layout.localLogout, token: accessToken, now: server.clock.now)
    }

    func userInfo(accessToken: String) async throws -> UserInfo { UserInfo(try await user(of: accessToken)) }

    private func user(of accessToken: String) async throws -> BackendUser {
        try BackendUser(try await server.connection.get(server.layout.profile, token: accessToken), server.layout.user)
    }
}
