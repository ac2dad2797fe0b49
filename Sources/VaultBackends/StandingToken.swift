internal import Foundation
internal import OpenIDConnect
internal import VaultAuth
internal import VaultHTTP
internal import VaultStorage

/// An access token that stands for itself: nothing renews it, but the backend can be asked whether it still counts.
struct StandingToken: Sendable {
    /// How long a token that does not say when it ends is used without asking again.
    static let trust: TimeInterval = 300

    let connection: BackendConnection
    /// Where the backend says whose token it is.
    let path: String
    let fields: BackendLayout.User
    let clock: any WallClock

    /// - Throws: ``OpenIDConnectError`` with code `invalidGrant` when it is over by its own time, or the backend says so.
    func confirm(
        _ credential: Credential, of id: AccountID, keep: (Credential) async throws -> Void
    ) async throws -> TokenSet {
        if let end = credential.expiresAt, end <= clock.now {
            throw OpenIDConnectError(.invalidGrant, "the access token has ended")
        }
        let answer = try await connection.get(path, token: credential.value) { status, _ in
            // What the token may not do (403) says nothing of whether it counts.
            status == 401 ? .invalidGrant : nil
        }
        try await keep(credential)
        try BackendUser(answer, fields).require(id)
        return TokenSet(
            accessToken: credential.value, expiresAt: Self.end(of: credential, at: clock.now), scope: credential.scope)
    }

    /// Until when a token may be used before the backend is asked again.
    static func end(of credential: Credential, at now: Date) -> Date { credential.expiresAt ?? now + trust }
}

extension RefreshToken {
    /// What a sign-in gave whose credential is the access token itself.
    init(
        standing credential: Credential, user: BackendUser, endpoint: ServerEndpoint, method: SignInMethod,
        clientID: String = "", at now: Date
    ) {
        self.init(
            credential, account: AccountID(issuer: endpoint.url, subject: user.id), method: method, clientID: clientID,
            identity: user.identity,
            accessToken: AccessToken(
                value: credential.value, tokenType: "Bearer", expiresAt: StandingToken.end(of: credential, at: now),
                scope: credential.scope, obtainedAt: now))
    }
}
