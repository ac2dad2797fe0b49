internal import Foundation
internal import OpenIDConnect
internal import VaultBase
internal import VaultStorage

/// An access token without a refresh token. Nothing renews it, but the backend can be asked whether it is still valid.
/// ``AccessToken/isValid(for:at:)`` decides when a token without an expiry time is asked about again.
struct StandingToken: Sendable {
    let connection: BackendConnection
    /// The path that names the person of the token.
    let path: String
    let fields: BackendLayout.User
    let clock: any WallClock

    /// - Returns: the token, and the person as the backend knows the person now.
    /// - Throws: ``OpenIDConnectError`` with code `invalidGrant` if the token has expired by the clock of this machine,
    ///   or if the answer is 401. It is ``OpenIDConnectError/isFinal`` only for a 401 of the backend itself.
    func confirm(
        _ credential: Credential, of id: AccountID, keep: (Credential) async throws -> Void
    ) async throws -> TokenSet {
        if let end = credential.expiresAt, end <= clock.now {
            throw OpenIDConnectError(.invalidGrant, "the access token has ended")
        }
        let answer: JSONValue
        do {
            answer = try await connection.get(path, token: credential.value) { status, _ in
                // A 403 is about the token's rights, not about its validity.
                status == 401 ? .invalidGrant : nil
            }
        } catch let error as OpenIDConnectError where error.code == .invalidGrant && error.isOfServer {
            throw error.final()
        }
        try await keep(credential)
        let user = try BackendUser(answer, fields)
        try user.require(id)
        return TokenSet(
            accessToken: credential.value, expiresAt: credential.expiresAt, scope: credential.scope,
            userInfo: UserInfo(user))
    }

    /// Whether the token has ended, asked after the backend answered 401 to its end. That 401 may also be about the client
    /// (RFC 6749 section 5.2), or a proxy may have sent it.
    func hasEnded(_ credential: Credential) async -> Bool {
        do {
            _ = try await connection.get(path, token: credential.value)
            return false
        } catch let error as OpenIDConnectError {
            return error.status == 401 && error.isOfServer
        } catch {
            return false
        }
    }
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
                value: credential.value, tokenType: "Bearer", expiresAt: credential.expiresAt, scope: credential.scope,
                obtainedAt: now))
    }
}
