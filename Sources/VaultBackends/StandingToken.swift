internal import Foundation
internal import OpenIDConnect
internal import VaultBase
internal import VaultStorage

/// An access token without a refresh token. Nothing renews it, but the backend can be asked whether it is still valid.
struct StandingToken: Sendable {
    /// The time between two such questions for a token without an expiry time, in seconds.
    static let trust: TimeInterval = 300

    let connection: BackendConnection
    /// The path that names the person of the token.
    let path: String
    let fields: BackendLayout.User
    let clock: any WallClock

    /// - Throws: ``OpenIDConnectError`` with code `invalidGrant` if the token has expired, or if the backend refuses
    ///   it.
    func confirm(
        _ credential: Credential, of id: AccountID, keep: (Credential) async throws -> Void
    ) async throws -> TokenSet {
        if let end = credential.expiresAt, end <= clock.now {
            throw OpenIDConnectError(.invalidGrant, "the access token has ended")
        }
        let answer = try await connection.get(path, token: credential.value) { status, _ in
            // A 403 is about the token's rights, not about its validity.
            status == 401 ? .invalidGrant : nil
        }
        try await keep(credential)
        try BackendUser(answer, fields).require(id)
        return TokenSet(
            accessToken: credential.value, expiresAt: Self.end(of: credential, at: clock.now), scope: credential.scope)
    }

    /// Returns the time at which the backend must be asked again.
    static func end(of credential: Credential, at now: Date) -> Date { credential.expiresAt ?? now + trust }
}

extension SignInResult {
    /// Makes the result of a sign-in whose credential is the access token itself.
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
